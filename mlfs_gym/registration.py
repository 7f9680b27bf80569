"""The environment ids that Gymnasium knows once mlfs_gym is imported."""

from __future__ import annotations

import gymnasium

# A string, so that `import mlfs_gym` loads no simulator and compiles nothing.
_ENTRY_POINT = "mlfs_gym.envs.job_scheduling:JobSchedulingEnv"
_VECTOR_ENTRY_POINT = "mlfs_gym.envs.vector:VectorJobSchedulingEnv"

PRESETS = {
    "mlfs_gym/JobScheduling-v0": "small",
    "mlfs_gym/Testbed-v0": "testbed",
    "mlfs_gym/Philly-v0": "philly",
}
"""Each environment id with the preset of its cluster and workload."""


def register_environments() -> None:
    """Make the ids known to `gymnasium.make`. Calling it again changes nothing."""
    for env_id, preset in PRESETS.items():
        if env_id not in gymnasium.registry:
            gymnasium.register(
                env_id,
                entry_point=_ENTRY_POINT,
                vector_entry_point=_VECTOR_ENTRY_POINT,
                kwargs={"preset": preset},
            )

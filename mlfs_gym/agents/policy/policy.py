"""The network as a policy of Stable-Baselines3 that knows masks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gymnasium import spaces
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.type_aliases import Schedule
from torch import Tensor, nn

from mlfs_gym.agents.policy.critic import Critic
from mlfs_gym.agents.policy.scorer import Observations, Scorer
from mlfs_gym.envs.features import FEATURES, as_rows


class SchedulingPolicy(MaskableActorCriticPolicy):
    """Scores each choice with shared weights; see `Scorer` and `Critic`.

    Use it with any environment of this package::

        model = MaskablePPO(SchedulingPolicy, env)

    Args:
        observation_space: of the environment.
        action_space: of the environment.
        lr_schedule: learning rate over the remaining progress.
        hidden: width of the networks.
        **kwargs: of `MaskableActorCriticPolicy`.
    """

    mlp_extractor: Any  # `_Trunks`, where other policies have an MlpExtractor
    optimizer_class: Any

    def __init__(
        self,
        observation_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        lr_schedule: Schedule,
        hidden: int = 64,
        **kwargs: Any,
    ) -> None:
        self.hidden = hidden
        # The networks below initialise themselves.
        kwargs.update(ortho_init=False, features_extractor_class=_AsRows)
        super().__init__(observation_space, action_space, lr_schedule, **kwargs)

    def actor_parameters(self) -> Iterator[nn.Parameter]:
        """Weights that choose actions."""
        parameters: Iterator[nn.Parameter] = self.mlp_extractor.scorer.parameters()
        return parameters

    def critic_parameters(self) -> list[nn.Parameter]:
        """Weights that estimate values. None is shared with the actor."""
        return [*self.mlp_extractor.critic.parameters(), *self.value_net.parameters()]

    def _build(self, lr_schedule: Schedule) -> None:
        super()._build(lr_schedule)
        # Scores are logits already. The layer that was here sat behind all logits and depended on their number.
        self.action_net = nn.Identity()
        self.optimizer = self.optimizer_class(self.parameters(), lr=lr_schedule(1.0), **self.optimizer_kwargs)

    def _build_mlp_extractor(self) -> None:
        assert isinstance(self.observation_space, spaces.Dict)
        features = {name: len(FEATURES[name]) for name in self.observation_space.spaces}
        self.mlp_extractor = _Trunks(features, self.hidden).to(self.device)

    def _get_constructor_parameters(self) -> dict[str, Any]:
        return {**super()._get_constructor_parameters(), "hidden": self.hidden}


class _AsRows(BaseFeaturesExtractor):
    """Tells the rows of an observation apart; its features are what they are."""

    def __init__(self, observation_space: spaces.Space[Any]) -> None:
        super().__init__(observation_space, features_dim=1)

    def forward(self, observations: Observations) -> Observations:
        return as_rows(observations)


class _Trunks(nn.Module):
    """Actor and critic under the names by which Stable-Baselines3 calls them."""

    def __init__(self, features: dict[str, int], hidden: int) -> None:
        super().__init__()
        self.scorer = Scorer(features, hidden)
        self.critic = Critic(features, hidden)
        self.latent_dim_pi = 1  # of the layer that `SchedulingPolicy` takes away again
        self.latent_dim_vf = hidden

    def forward(self, observations: Observations) -> tuple[Tensor, Tensor]:
        return self.forward_actor(observations), self.forward_critic(observations)

    def forward_actor(self, observations: Observations) -> Tensor:
        logits: Tensor = self.scorer(observations)
        return logits

    def forward_critic(self, observations: Observations) -> Tensor:
        values: Tensor = self.critic(observations)
        return values

"""`mlfs-gym evaluate`: schedulers and saved policies on the same seeds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mlfs_gym.cli.comparison import print_comparison
from mlfs_gym.cli.console import notes
from mlfs_gym.cli.options import SCHEDULERS, Jobs, Load, OnError, OnTraceError, TraceFile, TraceFormat
from mlfs_gym.errors import SettingsError

if TYPE_CHECKING:
    import pandas as pd

    from mlfs_gym.agents.evaluation import EvaluationSet
    from mlfs_gym.agents.task import Task, TaskConfig

EXAMPLES = (
    "mlfs-gym evaluate mlf_h fifo sjf srtf",
    "mlfs-gym evaluate mlf_h srtf runs/quick --seeds 50 --csv results.csv",
    "mlfs-gym evaluate mlf_h runs/quick runs/full --load 1.3",
    "mlfs-gym evaluate mlf_h my_module:MyScheduler --env mlfs_gym/Testbed-v0 --seeds 5",
)


def evaluate(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME...",
            help=f"Schedulers ({SCHEDULERS}) and policies (folder of a run, or model.zip).",
        ),
    ],
    seeds: Annotated[int, typer.Option(help="Number of episodes, the same for all.")] = 20,
    reference: Annotated[
        str | None, typer.Option(metavar="NAME", help="Compare with this one; the first by default.")
    ] = None,
    env: Annotated[str | None, typer.Option(metavar="ID", help="Environment; JobScheduling-v0 by default.")] = None,
    load: Load = None,
    jobs: Jobs = None,
    sharing: Annotated[
        bool | None,
        typer.Option("--sharing/--exclusive", help="May tasks share a GPU? By default as in the environment."),
    ] = None,
    preemption: Annotated[
        bool | None, typer.Option("--preemption/--no-preemption", help="May policies preempt jobs?")
    ] = None,
    load_control: Annotated[
        bool | None,
        typer.Option("--load-control/--no-load-control", help="Does MLF-C end jobs early, for all who play?"),
    ] = None,
    trace: TraceFile = None,
    format_: TraceFormat = "auto",
    on_error: OnTraceError = OnError.RAISE,
    sample: Annotated[
        bool, typer.Option("--sample", help="Let policies draw their actions instead of taking the likeliest.")
    ] = False,
    csv: Annotated[Path | None, typer.Option(metavar="FILE", help="Write one row per name and seed.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the rows as JSON instead of the table.")] = False,
) -> None:
    """Compare schedulers and saved policies, pair by pair on the same held-out seeds, and print one table.

    No training episode has one of these seeds; of a trace, windows of its last 20% are played.

    If the folder of a run is among the names, what you do not say about the environment is as in the first such run.
    """
    if len(set(names)) < len(names):
        raise SettingsError(f"names: found {names}, expected each once")
    reference = reference if reference is not None else names[0]
    if reference not in names:
        raise SettingsError(f"--reference: found {reference!r}, expected one of {', '.join(names)}")
    if not 1 <= seeds <= 1_000_000:
        raise SettingsError(f"--seeds: found {seeds}, expected 1 to 1,000,000")
    if csv is not None and not csv.parent.is_dir():  # now, not after a long run
        raise SettingsError(f"--csv: found {csv}, expected a file in a folder that exists")
    from mlfs_gym.agents.evaluation import EvaluationSet
    from mlfs_gym.agents.task import Task, held_out_seeds

    said = {
        "env": env,
        "load": load,
        "jobs": jobs,
        "sharing": sharing,
        "preemption": preemption,
        "load_control": load_control,
        "trace": trace.resolve() if trace is not None else None,
        "trace_format": format_ if trace is not None else None,
        "trace_on_error": on_error.value if trace is not None else None,
    }
    config = _task_config(names, {key: value for key, value in said.items() if value is not None})
    task = Task(config)
    results = _play(names, EvaluationSet(task, "test", held_out_seeds("test", seeds)), task, deterministic=not sample)
    if csv is not None:
        results.to_csv(csv, index=False)
    if as_json:
        # JSON has no nan.
        rows = results.astype(object).where(results.notna(), None).to_dict(orient="records")
        typer.echo(json.dumps(rows, indent=2, allow_nan=False))
        return
    print_comparison(results, reference)
    if csv is not None:
        notes().print(f"Rows written to {csv}", markup=False)


def is_policy(name: str) -> bool:
    """True if a name means a saved policy: a path, not the name of a scheduler."""
    return ":" not in name and (name.endswith(".zip") or "/" in name or Path(name).is_dir())


def _task_config(names: list[str], said: dict[str, Any]) -> TaskConfig:
    """What the user said, the rest as in the first run among the names."""
    from mlfs_gym.agents.run_folder import RunFolder
    from mlfs_gym.agents.task import TaskConfig

    for name in names:
        run = RunFolder(Path(name))
        if is_policy(name) and run.config.is_file():
            return TaskConfig.parse(run.read_config().task, **said)
    return TaskConfig.parse(said)


def _play(names: list[str], episodes: EvaluationSet, task: Task, deterministic: bool) -> pd.DataFrame:
    import pandas as pd

    from mlfs_gym.agents.load import load_policy
    from mlfs_gym.cli.watching import watch_for
    from mlfs_gym.cli.workloads import scheduler_named

    # All of them before the first episode, so that a wrong name is found at once.
    contestants: dict[str, Any] = {
        name: load_policy(Path(name), task) if is_policy(name) else scheduler_named(name) for name in names
    }
    found: list[pd.DataFrame] = []
    with watch_for() as watch:
        watch.stage("Evaluation", len(names) * len(episodes.seeds))

        def on_episode(name: str, number: int) -> None:
            watch.progress(len(found) * len(episodes.seeds) + number, name)

        for name, contestant in contestants.items():
            if is_policy(name):
                found.append(episodes.play_policy(name, contestant, deterministic, on_episode))
            else:
                found.append(episodes.play_scheduler(name, contestant, on_episode))
    return pd.concat(found, ignore_index=True)

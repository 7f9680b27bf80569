"""`mlfs-gym train`: demonstrations, cloning, PPO, evaluation, in one run folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mlfs_gym.cli.comparison import print_comparison
from mlfs_gym.cli.console import notes, output
from mlfs_gym.cli.one_line_errors import Interrupted
from mlfs_gym.cli.options import Jobs, Load, OnError, OnTraceError, TraceFile, TraceFormat
from mlfs_gym.cli.programs import program_here
from mlfs_gym.cli.tensorboard import tensorboard_command
from mlfs_gym.errors import SettingsError

if TYPE_CHECKING:
    from mlfs_gym.agents.config import TrainConfig
    from mlfs_gym.agents.train import TrainResult

EXAMPLES = (
    "mlfs-gym train",
    "mlfs-gym train --preset full --seed 1 --name full_seed1",
    "mlfs-gym train --load 1.3 --preemption --set ppo.learning_rate=3e-4 --set cloning.episodes=300",
    "mlfs-gym train --trace philly.csv",
    "mlfs-gym train --resume runs/quick",
)

_GO_ON = "resume"
_PRESETS = (
    "[cyan]quick[/cyan] (about five minutes), [cyan]full[/cyan] (about twice that), or [cyan]rl[/cyan]: full, rewarded "
    "for JCT alone."
)


def train(
    context: typer.Context,
    preset: Annotated[str, typer.Option(metavar="NAME", help=_PRESETS)] = "quick",
    resume: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="Go on with the interrupted run in this folder, with its own settings."),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="Name of the run's folder; the preset's, numbered if taken, by default.")
    ] = None,
    runs: Annotated[Path, typer.Option(metavar="DIR", help="Where run folders are made.")] = Path("runs"),
    seed: Annotated[int, typer.Option(help="Of everything random; the same seed gives the same result.")] = 0,
    env: Annotated[str | None, typer.Option(metavar="ID", help="Environment; JobScheduling-v0 by default.")] = None,
    load: Load = None,
    jobs: Jobs = None,
    sharing: Annotated[
        bool | None,
        typer.Option("--sharing/--exclusive", help="May tasks share a GPU? By default as in the environment."),
    ] = None,
    preemption: Annotated[bool, typer.Option("--preemption", help="Let the policy preempt jobs.")] = False,
    load_control: Annotated[
        bool, typer.Option("--load-control", help="Let MLF-C end jobs early, as their owners permit.")
    ] = False,
    trace: TraceFile = None,
    format_: TraceFormat = "auto",
    on_error: OnTraceError = OnError.RAISE,
    steps: Annotated[int | None, typer.Option(help="Decisions of PPO; the preset's by default.")] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="FIELD=VALUE", help="Any other setting, as in config.json: ppo.gamma=0.99."),
    ] = None,
) -> None:
    """Train a scheduling policy and compare it with schedulers on held-out seeds.

    It collects demonstrations of MLF-H, clones them, fine-tunes with MaskablePPO and evaluates against MLF-H, FIFO and
    SRTF, pair by pair. The curves are there from the first seconds: tensorboard --logdir runs.

    A run that was interrupted, killed or lost its machine goes on with --resume and ends as if nothing had happened.

    With --trace, episodes are windows of the trace: the first 70% of its jobs to learn from, 10% to choose the best
    policy, the last 20% for the evaluation.
    """
    if resume is not None:
        _refuse_settings_beside_resume(context)
        result = _go_on(resume)
    else:
        task = {
            "env": env,
            "load": load,
            "jobs": jobs,
            "sharing": sharing,
            "preemption": preemption or None,
            "load_control": load_control or None,
            "trace": trace.resolve() if trace is not None else None,
            "trace_format": format_ if trace is not None else None,
            "trace_on_error": on_error.value if trace is not None else None,
        }
        config = _config(preset, seed, task, steps, set_ or [])
        result = _begin(config, runs, name or preset, named=name is not None)
    output().print()
    print_comparison(result.results, result.run.read_config().evaluation.compare_with[0])
    output().print(f"\nRun     {result.run.path}  (best policy: {result.run.best_model.name})", markup=False)
    output().print(f"Curves  {tensorboard_command(result.run.path.parent)}", markup=False, soft_wrap=True)


def _config(preset: str, seed: int, task: dict[str, Any], steps: int | None, assignments: list[str]) -> TrainConfig:
    from mlfs_gym.agents.config import train_config
    from mlfs_gym.cli.assignments import nested

    changes = nested(assignments)
    changes["seed"] = seed
    changes["task"] = {**{key: value for key, value in task.items() if value is not None}, **changes.get("task", {})}
    if steps is not None:
        changes["ppo"] = {**changes.get("ppo", {}), "steps": steps}
    return train_config(preset, **changes)


def _begin(config: TrainConfig, runs: Path, name: str, named: bool) -> TrainResult:
    from mlfs_gym.agents.run_folder import free_folder
    from mlfs_gym.agents.train import train as play

    if not name or Path(name).name != name:
        raise SettingsError(
            f"--name: found {name!r}, expected a name without '/'; --runs says where the folder is made"
        )
    folder = runs / name if named else free_folder(runs, name)
    return _watched(folder, lambda watch: play(config, folder, watch))


def _go_on(folder: Path) -> TrainResult:
    from mlfs_gym.agents.run_folder import RunFolder
    from mlfs_gym.agents.train import resume as play

    run = RunFolder.open(folder)
    if run.is_complete:
        notes().print(f"{folder} is complete; these are its results.", markup=False)
    return _watched(folder, lambda watch: play(folder, watch))


def _watched(folder: Path, work: Any) -> TrainResult:
    from mlfs_gym.cli.watching import watch_for

    try:
        with watch_for() as watch:
            result: TrainResult = work(watch)
            return result
    except KeyboardInterrupt:
        command = program_here("mlfs-gym", "mlfs_gym")
        raise Interrupted(f"interrupted; go on with: {command} train --resume {folder}") from None


def _refuse_settings_beside_resume(context: typer.Context) -> None:
    """A resumed run keeps its settings; saying otherwise must not be ignored in silence."""
    for name in context.params:
        source = context.get_parameter_source(name)
        if name != _GO_ON and source is not None and source.name == "COMMANDLINE":
            option = name.rstrip("_").replace("_", "-")
            raise SettingsError(
                f"--{option}: found beside --resume, expected neither: a resumed run keeps its settings"
            )

"""Mistakes in the input end with one line and exit status 2, Ctrl-C with 130; neither shows a traceback.

An error in a scheduler of the user's own shows the part of its traceback that is theirs.
"""

from __future__ import annotations

import os
from typing import Any

import gymnasium
import typer
from typer.core import TyperGroup

from mlfs_gym.errors import MlfsError, SchedulerError

EXIT_BAD_INPUT = 2
EXIT_OWN_CODE = 1  # as Python has it
EXIT_INTERRUPTED = 130  # 128 + SIGINT, as shells have it


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, with a line that says what to do next."""


class OneLineErrors(TyperGroup):
    """The commands, with these rules for all of them."""

    # Some releases of typer take click's Context, some their own.
    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        try:
            return super().invoke(ctx)
        except (MlfsError, SchedulerError, gymnasium.error.Error) as error:
            complaint = str(error)
        except BrokenPipeError:  # `mlfs-gym ... | head`: ends quietly
            raise
        except OSError as error:
            complaint = f"{os.fspath(error.filename)}: {error.strerror}" if error.filename is not None else str(error)
        except KeyboardInterrupt as error:
            typer.echo(str(error) or "interrupted", err=True)
            raise typer.Exit(EXIT_INTERRUPTED) from None
        except (typer.Exit, typer.Abort):
            raise
        except Exception as error:
            from mlfs_gym.report.own_code import own_traceback

            shown = own_traceback(error)
            if shown is None:  # an error of ours: all of it
                raise
            typer.echo(shown, err=True)
            raise typer.Exit(EXIT_OWN_CODE) from None
        typer.echo(f"error: {' '.join(complaint.split())}", err=True)
        raise typer.Exit(EXIT_BAD_INPUT)

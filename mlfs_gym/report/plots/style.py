"""The common frame of all plots."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mlfs_gym.report.plots.looks import label_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANEL_WIDTH: Final = 3.4  # inches: a column of a two-column paper
PANEL_HEIGHT: Final = 2.6
_LEGEND_LINE: Final = 0.19  # inches
_LEGEND_COLUMN: Final = 1.5

_STYLE: Final[dict[str, Any]] = {
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.labelsize": 9,
    "legend.fontsize": 8,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "axes.linewidth": 0.8,
    "pdf.fonttype": 42,  # fonts as text: searchable, and what conferences ask for
    "svg.hashsalt": "mlfs-gym",
    "savefig.dpi": 200,
}


@contextmanager
def panels(
    titles: Sequence[str], legend: int, width: float = PANEL_WIDTH, height: float = PANEL_HEIGHT
) -> Iterator[Any]:
    """A row of panels with a common y axis and room below for a legend.

    Args:
        titles: one for each panel.
        legend: entries of the legend.
        width: inches of one panel.
        height: inches of the panels.

    Yields:
        Figure and list of axes.
    """
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with mpl.rc_context(_STYLE):
        # No pyplot: it keeps figures, and picks a window system.
        total = width * len(titles) + 0.4
        lines = -(-legend // _columns(total)) if legend else 0
        figure = Figure(figsize=(total, height + _LEGEND_LINE * lines + (0.15 if lines else 0)), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.subplots(1, len(titles), sharey=True, squeeze=False)[0]
        for axis, title in zip(axes, titles, strict=True):
            axis.set_title(title)
        yield figure, list(axes)


def legend_below(figure: Figure, axis: Axes) -> None:
    """One legend for all panels, below them."""
    handles, labels = axis.get_legend_handles_labels()
    columns = _columns(figure.get_figwidth())
    figure.legend(
        handles,
        [label_of(label) for label in labels],
        loc="outside lower center",
        ncols=min(columns, len(handles)),
        frameon=False,
        handlelength=2.6,
        columnspacing=1.2,
        labelspacing=0.25,
    )


def save(figure: Figure, folder: Path, name: str) -> None:
    """Write a PNG to look at and a PDF for papers; the same bytes for the same data."""
    figure.savefig(folder / f"{name}.png", metadata={"Software": None})
    figure.savefig(folder / f"{name}.pdf", metadata={"CreationDate": None, "Producer": None, "Creator": None})


def _columns(width: float) -> int:
    return max(1, int(width / _LEGEND_COLUMN))

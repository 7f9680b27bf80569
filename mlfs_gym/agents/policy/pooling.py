"""From rows of features to one vector, whatever the number and order of the rows."""

from __future__ import annotations

import torch
from torch import Tensor, nn

PRESENT = 0  # position of the feature that says whether a row holds anything


class RowEncoder(nn.Module):
    """The same two layers for each row.

    Args:
        features: features of a row.
        context: features that all rows share.
        hidden: width of the result.
    """

    def __init__(self, features: int, context: int, hidden: int) -> None:
        super().__init__()
        self.own = nn.Linear(features, hidden)
        self.shared = nn.Linear(context, hidden, bias=False)
        self.second = nn.Linear(hidden, hidden)

    def forward(self, rows: Tensor, context: Tensor) -> Tensor:
        """(B, N, features) and (B, context) to (B, N, hidden), zero where a row holds nothing."""
        first = torch.relu(self.own(rows) + self.shared(context).unsqueeze(1))
        return torch.relu(self.second(first)) * rows[..., PRESENT : PRESENT + 1]


def pool(encoded: Tensor) -> Tensor:
    """(B, N, hidden) to (B, 2 * hidden): mean and maximum over the rows.

    The mean is over all N rows, so it tells few rows from many.
    """
    return torch.cat([encoded.mean(dim=1), encoded.amax(dim=1)], dim=1)

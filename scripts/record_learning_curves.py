"""Record the learning curves of small models on real data: the fixtures of the tests of OptStop.

pip install scikit-learn && python scripts/record_learning_curves.py tests/schedulers/opt_stop/data 1

Trains on scikit-learn's handwritten digits (1,797 images of 8 x 8 pixels; scikit-learn is in the extra `dev`, nothing
else needs it) and writes one CSV a run, one row an epoch. The second argument is the seed. The last digits depend on
the version of PyTorch and on the processor.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

COLUMNS = ("epoch", "training_loss", "training_accuracy", "validation_loss", "validation_accuracy")
VALIDATION = 597  # images; the other 1,200 are for training


def mlp() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))


def wide_mlp() -> nn.Module:
    return nn.Sequential(
        nn.Flatten(), nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10)
    )


def conv_net() -> nn.Module:
    layers = [nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3, padding=1), nn.ReLU()]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(16 * 4 * 4, 10))


def linear() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 10))


@dataclass(frozen=True)
class Run:
    """One training run.

    Args:
        model: makes the network.
        loss: training and validation loss of logits and labels.
        epochs: passes over the training images.
        learning_rate: of stochastic gradient descent, momentum 0.9 where `momentum` says so.
        images: training images; few of them overfit.
        wrong_labels: share of the training labels that are replaced by random ones; a large one overfits.
        momentum: of stochastic gradient descent.
    """

    model: Callable[[], nn.Module]
    loss: Callable[[], nn.Module]
    epochs: int
    learning_rate: float
    images: int = 1200
    wrong_labels: float = 0.0
    momentum: float = 0.0


RUNS = {
    "mlp": Run(mlp, nn.CrossEntropyLoss, 100, 0.01),
    "mlp_slow": Run(mlp, nn.CrossEntropyLoss, 100, 0.002),
    "mlp_few_images": Run(wide_mlp, nn.CrossEntropyLoss, 80, 0.01, images=150, momentum=0.9),
    "mlp_overfitting": Run(wide_mlp, nn.CrossEntropyLoss, 80, 0.02, images=400, wrong_labels=0.25, momentum=0.9),
    "conv": Run(conv_net, nn.CrossEntropyLoss, 80, 0.01),
    "conv_overfitting": Run(conv_net, nn.CrossEntropyLoss, 100, 0.02, images=300, wrong_labels=0.25, momentum=0.9),
    "svm": Run(linear, nn.MultiMarginLoss, 60, 0.005),
    "logistic": Run(linear, nn.CrossEntropyLoss, 60, 0.005),
}


def digits(run: Run, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Training images and labels, validation images and labels; images in [0, 1]."""
    from sklearn.datasets import load_digits

    data = load_digits()
    images = torch.tensor(data.images, dtype=torch.float32).unsqueeze(1) / 16.0
    labels = torch.tensor(data.target, dtype=torch.int64)
    order = torch.randperm(len(labels), generator=generator)
    held_out, rest = order[:VALIDATION], order[VALIDATION : VALIDATION + run.images]
    wrong = torch.rand(len(rest), generator=generator) < run.wrong_labels
    random_labels = torch.randint(10, (len(rest),), generator=generator)
    return images[rest], torch.where(wrong, random_labels, labels[rest]), images[held_out], labels[held_out]


def measure(model: nn.Module, loss: nn.Module, images: Tensor, labels: Tensor) -> tuple[float, float]:
    """Loss and accuracy."""
    with torch.no_grad():
        logits = model(images)
        return float(loss(logits, labels)), float((logits.argmax(1) == labels).float().mean())


def train(run: Run, seed: int) -> list[tuple[float, ...]]:
    """One row per epoch, in the order of COLUMNS. Training figures are taken at the end of the epoch."""
    torch.manual_seed(seed)  # the initial weights
    generator = torch.Generator().manual_seed(seed)
    images, labels, held_out_images, held_out_labels = digits(run, generator)
    model, loss = run.model(), run.loss()
    optimizer = torch.optim.SGD(model.parameters(), lr=run.learning_rate, momentum=run.momentum)
    rows: list[tuple[float, ...]] = []
    for epoch in range(1, run.epochs + 1):
        for batch in torch.split(torch.randperm(len(labels), generator=generator), 32):
            optimizer.zero_grad()
            loss(model(images[batch]), labels[batch]).backward()
            optimizer.step()
        training = measure(model, loss, images, labels)
        rows.append((epoch, *training, *measure(model, loss, held_out_images, held_out_labels)))
    return rows


def main(folder: str, seed: str = "1") -> None:
    torch.set_num_threads(1)
    for name, run in RUNS.items():
        rows = train(run, int(seed))
        path = Path(folder) / f"{name}.csv"
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(COLUMNS)
            writer.writerows([row[0], *(f"{value:.6g}" for value in row[1:])] for row in rows)
        print(f"{path}: {len(rows)} epochs, validation accuracy {rows[-1][-1]:.3f}")


if __name__ == "__main__":
    main(*sys.argv[1:])

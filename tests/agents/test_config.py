"""Settings of a training run."""

from __future__ import annotations

import pytest
import torch

from mlfs_gym.agents.config import train_config
from mlfs_gym.errors import SettingsError


def test_a_text_names_schedulers_to_compare_with() -> None:
    """As `--set evaluation.compare_with=srtf` gives it."""
    for given, expected in (("srtf", ("srtf",)), ("srtf, my_module:Mine", ("srtf", "my_module:Mine"))):
        assert train_config(evaluation={"compare_with": given}).evaluation.compare_with == expected


def test_a_device_that_is_not_here_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(SettingsError, match="device: found 'cuda', expected cpu or auto: PyTorch"):
        train_config(device="cuda")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert train_config(device="cuda:1").device == "cuda:1"
    with pytest.raises(SettingsError, match="device: found 'cuda:2', expected cuda:0 to cuda:1"):
        train_config(device="cuda:2")
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    with pytest.raises(SettingsError, match="device: found 'mps'"):
        train_config(device="mps")
    assert train_config(device="auto").device == "auto"

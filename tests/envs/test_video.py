"""Gymnasium's RecordVideo makes a film of an episode."""

from __future__ import annotations

from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

import mlfs_gym  # noqa: F401  (registers)
from mlfs_gym.envs.rendering.raster import FRAME_HEIGHT, FRAME_WIDTH
from tests.envs.episodes import expert, play_episode
from tests.envs.equality import assert_same


@pytest.mark.parametrize("env_id", ["mlfs_gym/JobScheduling-v0", "mlfs_gym/Testbed-v0"])
def test_record_video(env_id: str, tmp_path: Path) -> None:
    moviepy = pytest.importorskip("moviepy")
    env = gym.make(env_id, render_mode="rgb_array")
    env = gym.wrappers.RecordVideo(env, str(tmp_path / "films"), video_length=30, disable_logger=True)
    env.reset(seed=0)
    for _ in range(40):
        env.step(env.unwrapped.expert_action())
    env.close()
    (film,) = tmp_path.glob("films/*.mp4")
    clip = moviepy.VideoFileClip(str(film))
    try:
        assert clip.size == [FRAME_WIDTH, FRAME_HEIGHT]
        assert clip.fps == env.metadata["render_fps"]
        assert clip.duration == pytest.approx(30 / clip.fps, abs=0.11)
        first, last = clip.get_frame(0.0), clip.get_frame(clip.duration - 0.05)
        assert not np.array_equal(first, last)
    finally:
        clip.close()


def test_rendering_changes_nothing_of_the_episode() -> None:
    plain = gym.make("mlfs_gym/JobScheduling-v0", jobs=60)
    drawn = gym.make("mlfs_gym/JobScheduling-v0", jobs=60, render_mode="rgb_array")
    frames = []
    total, info = play_episode(plain, expert, seed=3)
    drawn_total, drawn_info = play_episode(drawn, expert, seed=3, visit=lambda _: frames.append(drawn.render()))
    assert drawn_total == total
    assert_same(drawn_info["metrics"], info["metrics"])
    assert len(frames) > 100
    assert {frame.shape for frame in frames} == {(FRAME_HEIGHT, FRAME_WIDTH, 3)}

"""The command line `mlfs-gym`: one file per command. Anything heavy is imported where a command begins its work."""

from mlfs_gym.cli.app import app, main

__all__ = ["app", "main"]

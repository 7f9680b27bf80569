"""`python -m mlfs_gym` is the command `mlfs-gym`."""

from mlfs_gym.cli import main

if __name__ == "__main__":
    main()

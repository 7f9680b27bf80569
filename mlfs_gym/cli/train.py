"""Not written yet."""


def train(preset: str = "quick") -> None:
    """Not written yet."""


EXAMPLES = ()

"""Not written yet."""


def evaluate() -> None:
    """Not written yet."""


EXAMPLES = ()

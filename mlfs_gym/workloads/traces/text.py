"""From a path to text, with an error that says what the file is instead."""

from __future__ import annotations

from pathlib import Path

from mlfs_gym.errors import TraceError

_EXPECTED = "a text file in UTF-8"


def read_bytes(path: Path) -> bytes:
    """The whole file.

    Raises:
        TraceError: no such file, a folder, no permission.
    """
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise TraceError(path, None, None, "no such file", "a trace") from None
    except IsADirectoryError:
        raise TraceError(path, None, None, "a folder", "a trace file") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise TraceError(path, None, None, f"a file that cannot be read ({reason})", "a trace") from None


def read_text(path: Path) -> str:
    """The whole file. A byte order mark is accepted.

    Raises:
        TraceError: no such file, a folder, no permission, empty, binary, another encoding.
    """
    data = read_bytes(path)
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise TraceError(path, None, None, "UTF-16", _EXPECTED)
    if b"\0" in data:
        row = data.count(b"\n", 0, data.index(b"\0")) + 1
        raise TraceError(path, row, None, "binary data (a zero byte)", _EXPECTED)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        row = data.count(b"\n", 0, error.start) + 1
        raise TraceError(path, row, None, f"the byte 0x{data[error.start]:02x}", _EXPECTED) from None
    if not text.strip():
        raise TraceError(path, None, None, "an empty file", "a trace")
    return text

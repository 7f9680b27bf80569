"""Settings given as ``group.field=value``."""

from __future__ import annotations

import json
from typing import Any

from mlfs_gym.errors import SettingsError


def nested(assignments: list[str]) -> dict[str, Any]:
    """Mappings in mappings: ``["ppo.gamma=0.99"]`` becomes ``{"ppo": {"gamma": 0.99}}``.

    Values are read as JSON where they are JSON, else as text.

    Raises:
        SettingsError: an assignment has no ``=``, or gives a group a value.
    """
    result: dict[str, Any] = {}
    for assignment in assignments:
        path, equals, text = assignment.partition("=")
        if not equals or not path:
            raise SettingsError(f"--set: found {assignment!r}, expected FIELD=VALUE, as in ppo.gamma=0.99")
        *groups, field = path.split(".")
        place = result
        for group in groups:
            place = place.setdefault(group, {})
            if not isinstance(place, dict):
                raise SettingsError(f"--set {assignment!r}: {group!r} has a value of its own already")
        place[field] = _value(text)
    return result


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text

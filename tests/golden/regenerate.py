"""Write the kept metrics anew, after a change of dynamics that is meant: ``python -m tests.golden.regenerate``.

Prints what has changed, for the changelog.
"""

from __future__ import annotations

import json

from tests.golden.scenarios import FILE, found, kept, names


def main() -> None:
    before = kept() if FILE.exists() else {}
    after = {name: found(name) for name in names()}
    for name, values in after.items():
        old = before.get(name, {})
        for metric, value in values.items():
            if old.get(metric) != value:
                print(f"{name}: {metric} {old.get(metric)} -> {value}")
    FILE.write_text(json.dumps(after, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

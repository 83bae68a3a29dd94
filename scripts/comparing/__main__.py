"""The program of scripts/newer: which packages that the tree pins have a newer release, one line each.

A line has the kind, the name, our version and the newest one. Each kind is asked by the client that installs it, so the
index is the one that the client is configured for. The exit status is 1 if one of them gave no answer.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from scripts.comparing import asking, pins
from scripts.comparing.versions import is_newer

ROOT = Path(__file__).resolve().parents[2]
Pins = Mapping[str, str]
Kind = tuple[Callable[[Path], Pins], Callable[[Pins], Pins]]
KINDS: dict[str, Kind] = {
    "python": (pins.python, asking.python),
    "go": (pins.go, asking.go),
    "npm": (pins.npm, asking.npm),
    "maven": (pins.maven, asking.maven),
}


def main(arguments: Sequence[str], root: Path = ROOT) -> int:
    """Run the command line: the kinds, by default all."""
    unknown = [kind for kind in arguments if kind not in KINDS]
    if unknown:
        print(f"barnabas: {unknown[0]} is not one of {', '.join(KINDS)}", file=sys.stderr)
        return 2
    silent = False
    for kind in arguments or KINDS:
        read, ask = KINDS[kind]
        ours = read(root)
        try:
            newest = ask(ours)
        except asking.NoAnswer as reason:
            print(f"barnabas: {kind}: {reason}", file=sys.stderr)
            silent = True
            continue
        for name, version in sorted(ours.items()):
            if name not in newest:
                print(f"barnabas: {kind}: no release of {name} is known", file=sys.stderr)
                silent = True
            elif is_newer(newest[name], version):
                print(f"{kind} {name} {version} {newest[name]}")
    return int(silent)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

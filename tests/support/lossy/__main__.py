"""The file system as a process: `python -m tests.support.lossy PLACE SEED [--journaled]`.

On stdin it reads commands, one per line; on stdout it prints the results, one per line:

    arm N                 stand still before the N-th change from now, as a disk without power     armed NUMBER
    disarm                do not                                                                  disarmed NUMBER
    cut SURVIVAL [torn]   the power is cut, and comes back: a new mount of the rest               mounted NUMBER LOST

NUMBER counts the lines of stdin, so that no answer is mistaken for another one; LOST is how many changes were not safe.
`standing CUTS CHANGE` reports that it stands still, after so many cuts: nothing is answered until the next one.
It ends, and unmounts, when stdin does. Exit status 2, and one line on stderr, where the kernel refuses the mount.
"""

import argparse
import os
import random
import select
import sys
from typing import cast

from tests.support.files.memory_nodes import Folder
from tests.support.files.memory_survival import Fate, Survival, settle
from tests.support.lossy.device import Device, MountRefused
from tests.support.lossy.file_system import FileSystem
from tests.support.lossy.messages import parsed

REFUSED = 2


class _Standing(Exception):
    """The power is off."""


class _Process:
    def __init__(self, place: str, seed: int, *, is_journaled: bool) -> None:
        self._place, self._is_journaled = place, is_journaled
        self._dice, self._root = random.Random(seed), Folder()
        self._received = self._cuts = 0
        self._changes_left: int | None = None
        self._is_standing = False
        self._mount()

    def run(self) -> None:
        """Until stdin ends."""
        self._print("mounted", 0)
        rest = b""
        while True:
            waiting = [0] if self._is_standing else [0, self._device.descriptor]
            ready, _, _ = select.select(waiting, [], [])
            if 0 in ready:
                data = os.read(0, 65536)
                if not data:
                    break
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    self._received += 1
                    self._obey(line.decode().split())
            elif ready:
                self._serve()
        self._device.cut()

    def _mount(self) -> None:
        self._device = Device(self._place)
        self._system = FileSystem(self._root, self._before_change, is_journaled=self._is_journaled)

    def _serve(self) -> None:
        data = self._device.read()
        if data is None:
            return
        try:
            answer = self._system.answer(parsed(data))
        except _Standing as standing:
            self._is_standing = True
            self._print("standing", self._cuts, standing)
            return
        if answer is not None:
            self._device.write(answer)

    def _before_change(self, what: str) -> None:
        if self._changes_left is None:
            return
        if self._changes_left == 0:
            raise _Standing(what)
        self._changes_left -= 1

    def _obey(self, words: list[str]) -> None:
        match words:
            case ["arm", number]:
                self._changes_left = int(number)
                self._print("armed", self._received)
            case ["disarm"]:
                self._changes_left = None
                self._print("disarmed", self._received)
            case ["cut", survival, *how]:
                self._device.cut()
                self._cuts += 1
                lost = _unsafe(self._root)
                if survival != "everything":
                    settle(self._root, Fate(self._dice, cast(Survival, survival), torn=how == ["torn"]))
                self._changes_left, self._is_standing = None, False
                self._mount()
                self._print("mounted", self._received, lost)
            case _:
                raise ValueError(f"not understood: {words}")

    @staticmethod
    def _print(*words: object) -> None:
        print(*words, flush=True)


def _unsafe(folder: Folder) -> int:
    below = (_unsafe(node) if isinstance(node, Folder) else len(node.changes) for node in folder.names.values())
    return len(folder.changes) + sum(below)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="lossy")
    parser.add_argument("place")
    parser.add_argument("seed", type=int)
    parser.add_argument("--journaled", action="store_true")
    options = parser.parse_args(arguments)
    try:
        process = _Process(options.place, options.seed, is_journaled=options.journaled)
    except MountRefused as why:
        print(why, file=sys.stderr)
        return REFUSED
    process.run()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""One file of a small partition damaged, in every way: it is opened right or refused, and `log verify` finds it.

The table in docs/formats/damage.md is what is held here: `SERVED` are the files of which a damage may change what is
served, and how.
"""

from collections.abc import Iterable

import pytest

from barnabas.storage.errors import WHAT_TO_DO
from tests.support.files.small_partition import (
    Content,
    Damage,
    Outcome,
    Seen,
    applied,
    damages,
    outcome,
    some_of,
    sound,
)
from tests.support.files.small_partition import world_of as world_of_content
from tests.support.worlds.log import ROOT

STATES = pytest.mark.parametrize("is_clean", [True, False], ids=["stopped", "killed"])
STARTS = f"{ROOT}/log-start-offset-checkpoint"
EPOCHS = f"{ROOT}/t-0/leader-epoch-checkpoint"


def check(damage: Damage, content: Content, seen: Seen) -> None:
    changed = applied(content, damage)
    found = outcome(changed)
    name = f"{damage.path}, {damage.what}: {found.refused or found.seen}"
    if found.seen is None:
        assert ROOT in found.refused or not found.at_opening, name
        if found.at_opening and "meta.properties" not in damage.path:
            assert found.refused.endswith(WHAT_TO_DO), name
    elif found.seen != seen:
        assert may_be_served(damage, content, found.seen, seen), name
    if found.seen != seen and not goes_unnoticed(damage, found):
        assert world_of_content(changed).findings(), name


def may_be_served(damage: Damage, content: Content, found: Seen, seen: Seen) -> bool:
    """A flipped bit in a head that opening does not read, and no CRC covers; deleted records; an older epoch's end."""
    if damage.path.endswith(".log"):
        data = damage.content or b""
        return len(data) == len(content[damage.path]) and (found.offsets, found.epochs) == (seen.offsets, seen.epochs)
    if damage.path == STARTS and not damage.content:
        return found.records[1:] == seen.records and found.committed[1:] == seen.committed
    return damage.path == EPOCHS and found._replace(epochs=seen.epochs) == seen


def goes_unnoticed(damage: Damage, found: Outcome) -> bool:
    """A file that is gone, and an id: only who has the catalogue knows."""
    return not damage.content or damage.path.endswith("partition.metadata") or "catalogue" in found.refused


def check_all(chosen: Iterable[Damage], content: Content, seen: Seen) -> None:
    count = 0
    for damage in chosen:
        check(damage, content, seen)
        count += 1
    assert count > len(content)


@STATES
def test_some_damage_is_opened_right_or_refused(is_clean: bool, seed: int) -> None:
    content, seen = sound(is_clean=is_clean)
    check_all(some_of(content, seed, 0.03), content, seen)


@pytest.mark.long
@STATES
def test_every_damage_is_opened_right_or_refused(is_clean: bool) -> None:
    content, seen = sound(is_clean=is_clean)
    check_all(damages(content), content, seen)


@STATES
def test_without_damage_nothing_is_refused_or_found(is_clean: bool) -> None:
    content, seen = sound(is_clean=is_clean)
    assert outcome(content) == Outcome(seen, "", at_opening=False)
    assert world_of_content(content).findings() == []


@STATES
def test_a_file_of_a_newer_version_is_refused_or_made_again(is_clean: bool) -> None:
    content, seen = sound(is_clean=is_clean)
    newer = {
        "meta.properties": (b"version=1", b"version=2"),
        "recovery-point-offset-checkpoint": (b"0\n", b"1\n"),
        "leader-epoch-checkpoint": (b"0\n", b"1\n"),
        "partition.metadata": (b"version: 0", b"version: 1"),
    }
    for path, data in content.items():
        if (change := newer.get(path.rpartition("/")[2])) is not None:
            found = outcome(content | {path: data.replace(*change, 1)})
            assert found.seen is None, path
            assert "version" in found.refused
        if path.endswith((".txnindex", ".snapshot")):
            assert outcome(content | {path: b"\0\7" + data[2:]}).seen == seen, path


@STATES
def test_a_directory_half_deleted_is_refused(is_clean: bool) -> None:
    content, seen = sound(is_clean=is_clean)
    names = sorted(path for path in content if "/t-0/" in path)
    for order in (names, names[::-1]):
        for count in range(1, len(names)):
            found = outcome({path: data for path, data in content.items() if path not in order[:count]}).seen
            assert found is None or found.records == seen.records, (order[:count], found)

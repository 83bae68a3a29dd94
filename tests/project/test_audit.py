"""scripts/_audit.py: what is said of the locks' packages."""

import json
import time
from pathlib import Path

import pytest

from scripts import _audit


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The locks that were asked about; one has a package with a known weakness when the test says so."""
    locks: list[str] = []
    monkeypatch.setattr(_audit, "REMEMBERED", tmp_path / "audit.json")

    def ask(lock: Path) -> list[dict[str, object]]:
        locks.append(lock.name)
        return []

    monkeypatch.setattr(_audit, "_requested", ask)
    return locks


def test_a_known_weakness_fails(
    monkeypatch: pytest.MonkeyPatch, asked: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    weakness = {"id": "PYSEC-1", "fix_versions": ["1.2"]}
    monkeypatch.setattr(_audit, "_requested", lambda lock: [{"name": "a", "version": "1.1", "vulns": [weakness]}])

    assert _audit.main() == 1
    assert capsys.readouterr().out == "a 1.1: PYSEC-1; fixed in 1.2\ndependencies: FAILED\n"


def test_what_nobody_could_be_asked_about_is_not_called_ok(
    asked: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert _audit.main() == 0
    assert "not audited" in capsys.readouterr().out


def test_each_lock_is_asked_about_once_a_day(monkeypatch: pytest.MonkeyPatch, asked: list[str]) -> None:
    _audit.main()
    locks = list(asked)
    _audit.main()
    assert asked == locks
    assert "serve.txt" in locks

    tomorrow = time.time() + 86_400
    monkeypatch.setattr(time, "time", lambda: tomorrow)
    _audit.main()
    assert len(asked) == 2 * len(locks)


def test_a_broken_memory_is_asked_anew(asked: list[str]) -> None:
    _audit.REMEMBERED.write_text(json.dumps("?")[:1])
    assert _audit.main() == 0
    assert asked

"""Rules for every file of the repository, checked on its syntax. A finding names the place and what to do instead."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.support import source_tree as tree

MAX_FILE_LINES = 500
MAX_FUNCTION_LINES = 70

# A call, where it may be made all the same, and what everybody else uses instead.
BANNED_CALLS = [
    (
        "time.time",
        ("broker/runtime/clock.py", "client/clock.py", "tests/", "bench/", "scripts/"),
        "a `now_ms` parameter, or the Clock",
    ),
    (
        "time.time_ns",
        ("broker/runtime/clock.py", "client/clock.py", "tests/", "bench/"),
        "a `now_ms` parameter, or the Clock",
    ),
    (
        "time.monotonic",
        ("broker/runtime/clock.py", "broker/cli/", "client/clock.py", "tests/", "bench/", "scripts/"),
        "the Clock",
    ),
    ("time.sleep", ("client/clock.py", "bench/"), "an event, or tests.support.waiting"),
    ("asyncio.sleep", ("tests/simulation/",), "an event, or the Clock's call_later"),
    ("datetime.datetime.now", ("broker/runtime/clock.py", "bench/"), "a `now_ms` parameter"),
    ("uuid.uuid4", ("pyspark_barnabas/spark_sink/", "tests/", "bench/"), "an id that is passed in"),
    ("random.random", (), "a random.Random that is passed in"),
    ("random.randint", (), "a random.Random that is passed in"),
    ("random.choice", (), "a random.Random that is passed in"),
    ("os.system", (), "subprocess.run with a list"),
]
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|NotImplementedError)\b")
BARE_IGNORE = re.compile(r"# type: ignore(?!\[[\w, -]+\]\s+# \w)|# noqa(?!: [A-Z]+\d+(, [A-Z]+\d+)*\s+(# )?[\w(])")

FILES = tree.python_files()


def test_a_module_says_what_it_is() -> None:
    others = [path for path in FILES if not path.name.startswith("test_") and tree.text(path).strip()]
    assert [str(path) for path in others if not ast.get_docstring(tree.syntax(path))] == []


def test_a_file_is_not_too_long() -> None:
    assert [str(path) for path in FILES if len(tree.text(path).splitlines()) > MAX_FILE_LINES] == []


def test_a_function_is_not_too_long() -> None:
    too_long = [
        f"{path}:{function.lineno} {function.name}"
        for path in FILES
        for function in tree.functions(path)
        if function.end_lineno and function.end_lineno - function.lineno >= MAX_FUNCTION_LINES
    ]
    assert not too_long


def test_banned_calls_are_not_made() -> None:
    found = [
        f"{path}:{line} calls {call}: use {instead}"
        for path in FILES
        for line, call in tree.calls(path)
        for banned, allowed, instead in BANNED_CALLS
        if call == banned and not str(path).startswith(allowed)
    ]
    assert not found


def test_a_peers_address_is_asked_for_where_it_is_normalised() -> None:
    asking = [str(path) for path in FILES if path.parts[0] == "broker" and '"peername"' in tree.text(path)]
    assert asking == ["broker/network/advertised_address.py"], "use peer_of: rights and limits know IPv4 as IPv4"


def test_nothing_is_left_unfinished() -> None:
    assert [where for where, line in _lines() if UNFINISHED.search(line)] == []


def test_an_ignore_gives_its_reason() -> None:
    assert [where for where, line in _lines() if BARE_IGNORE.search(line)] == []


def test_no_exception_is_swallowed() -> None:
    swallowed = [
        f"{path}:{handler.lineno}"
        for path in FILES
        for handler in ast.walk(tree.syntax(path))
        if isinstance(handler, ast.ExceptHandler) and _is_broad(handler) and _does_nothing(handler)
    ]
    assert not swallowed


def _lines() -> Iterator[tuple[str, str]]:
    """(place, line) of every line but this file's own, which has to name what it looks for."""
    for path in FILES:
        if path != Path("tests/project/test_tidy.py"):
            for number, line in enumerate(tree.text(path).splitlines(), start=1):
                yield f"{path}:{number}", line


def _is_broad(handler: ast.ExceptHandler) -> bool:
    return handler.type is None or (
        isinstance(handler.type, ast.Name) and handler.type.id in ("Exception", "BaseException")
    )


def _does_nothing(handler: ast.ExceptHandler) -> bool:
    return all(isinstance(statement, ast.Pass | ast.Continue) for statement in handler.body)


def test_names_say_what_a_thing_is() -> None:
    vague = [str(path) for path in FILES if path.stem in ("utils", "util", "helpers", "misc", "common")]
    assert not vague

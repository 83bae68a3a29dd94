"""Log lines say what happened, once to a line, as text or as JSON, whatever a peer put into them."""

import io
import json
import logging
import re
from collections.abc import Callable, Iterator

import pytest

from barnabas.broker.runtime import log_lines
from barnabas.broker.runtime.log_lines import line, logger
from tests.support.own_logging import kept_logging

Written = Callable[[], str]
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"


@pytest.fixture
def configure() -> Iterator[Callable[[str], Written]]:
    """Send lines of one format somewhere; what is given back reads what was written."""

    def to(log_format: str) -> Written:
        stream = io.StringIO()
        log_lines.configure("info", stream, log_format)
        return stream.getvalue

    with kept_logging():
        yield to


def test_a_line_is_the_event_and_its_facts(configure: Callable[[str], Written]) -> None:
    written = configure("text")
    logger("net").warning(line("connection refused", peer="127.0.0.1:1", reason='more "than" 3', api=None, count=4))
    assert re.fullmatch(
        TIME + r' WARNING net connection refused peer=127\.0\.0\.1:1 reason="more \\"than\\" 3" count=4\n', written()
    )


def test_json_has_the_same_event_and_facts_with_their_types(configure: Callable[[str], Written]) -> None:
    written = configure("json")
    logger("net").warning(line("connection refused", peer="127.0.0.1:1", api=None, count=4, share=0.5, late=True))
    told = json.loads(written())
    assert re.fullmatch(TIME, told.pop("time"))
    assert told == {
        "level": "WARNING",
        "logger": "net",
        "event": "connection refused",
        "peer": "127.0.0.1:1",
        "count": 4,
        "share": 0.5,
        "late": True,
    }


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_text_of_a_peer_breaks_no_line(configure: Callable[[str], Written], log_format: str) -> None:
    written = configure(log_format)
    logger("net").info(line("connection closed", client_id="a\nb\r\x1b[31m\u2028\udc80", infinite=float("inf")))
    assert len(written().splitlines()) == 1
    assert written().isascii()


def test_json_keeps_a_stack_and_lines_of_others_in_one_object(configure: Callable[[str], Written]) -> None:
    written = configure("json")
    try:
        raise ValueError("no")
    except ValueError as error:
        logging.getLogger("asyncio").error("%s failed", "task", exc_info=error)
    (told,) = map(json.loads, written().splitlines())
    assert (told["logger"], told["event"]) == ("asyncio", "task failed")
    assert told["stack"].splitlines()[0] == "Traceback (most recent call last):"
    assert told["stack"].splitlines()[-1] == "ValueError: no"


def test_no_fact_replaces_the_identity_of_a_line(configure: Callable[[str], Written]) -> None:
    written = configure("json")
    logger("app").info(line("broker started", level="low", time="now"))
    told = json.loads(written())
    assert (told["level"], told["event"]) == ("INFO", "broker started")
    assert re.fullmatch(TIME, told["time"])

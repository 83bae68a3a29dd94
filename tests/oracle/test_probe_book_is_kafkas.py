"""Apache Kafka still answers what the probe book says: two pages in every run, so that it cannot go stale.

Not the pages that ask while markers are on their way: how often Kafka is quicker than the question is its own affair.
"""

import time
from pathlib import Path

import pytest

from tests.support.probes.differences import found
from tests.support.probes.page import Page, pages
from tests.support.probes.servers import answers_of_kafka

ALWAYS = "produce"
_DAY_S = 86_400
STEADY = [page for page in pages() if not page.has_slow_markers]


def _sample(day: int) -> list[Page]:
    """One page that is always asked, and the one whose turn it is."""
    others = [page for page in STEADY if page.name != ALWAYS and not page.is_long]
    return [*(page for page in STEADY if page.name == ALWAYS), others[day % len(others)]]


@pytest.mark.parametrize("page", _sample(int(time.time()) // _DAY_S), ids=lambda page: page.name)
def test_kafka_answers_as_it_was_recorded(page: Page, tmp_path: Path) -> None:
    differing = [
        str(each) for each in found(page, answers_of_kafka(page, tmp_path, has_answers=True)) if each.differences
    ]
    assert not differing, "\n".join(differing)


@pytest.mark.long
@pytest.mark.parametrize("page", STEADY, ids=lambda page: page.name)
def test_kafka_answers_every_page_as_it_was_recorded(page: Page, tmp_path: Path) -> None:
    test_kafka_answers_as_it_was_recorded(page, tmp_path)

"""The tables of docs/differences.md: every field in which Barnabas answers otherwise than Apache Kafka.

They are made of the recorded requests in tests/golden/probes, all of which a broker answers for that. What stands above
them in the page is written by hand.
"""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from docs.generate.decisions import place
from tests.support.kafka.jars import KAFKA_VERSION
from tests.support.probes.book import BOOK, SHORT
from tests.support.probes.compare import MISSING, Difference
from tests.support.probes.differences import Found, found, where
from tests.support.probes.page import Page
from tests.support.probes.servers import answers_of_barnabas

_HEADING = "## Answer by answer\n"
_LONG = 80
_NOT_TOLD = "see why"
_TOP = f"""\
Generated from `tests/golden/probes`: {{requests}} requests, valid and invalid, in every version of every API that is
offered, with the answers of Apache Kafka {KAFKA_VERSION}. Every field that is not listed is equal to Kafka's. A dash is
a field with its default value, or a missing row. The last column has the number under which it is said why; a
difference without one fails a test.
"""


def page(written: str) -> str:
    """Return the page with the tables as they are now. A broker is started for each page of the book."""
    with TemporaryDirectory(prefix="barnabas-differences-") as directory:
        differing = [
            each for page in SHORT for each in found(page, answers_of_barnabas(page, Path(directory) / page.name))
        ]
    return with_tables(written, BOOK, differing)


def with_tables(written: str, book: list[Page], differing: list[Found]) -> str:
    """Return the page with tables of these differences below what is written by hand."""
    by_hand, heading, _ = written.partition(_HEADING)
    if not heading:
        raise ValueError(f"the page has no heading {_HEADING!r}")
    return by_hand + heading + "\n" + tables(book, differing)


def tables(book: list[Page], every: list[Found]) -> str:
    """Return a table for each page of the book on which something differs."""
    requests = sum(len(step.versions) for page in book for story in page.stories for step in story.steps)
    lines = [_TOP.format(requests=requests)]
    above = ""
    for each in sorted([*every, *_said(book)], key=lambda each: each.page.name):
        if each.page.name != above:
            above = each.page.name
            remark = each.page.head[0].removeprefix("# ").rstrip(".")
            remark += "".join(f" ({name} {level})" for name, level in each.page.features.items())
            lines += [
                "",
                f"### {remark}",
                "",
                "| story | field | Kafka | Barnabas | why |",
                "|---|---|---|---|---|",
            ]
        lines += _rows(each)
    named = sorted({each.step.decision for each in every if each.step.decision})
    lines += ["", *(f"[{decision}]: {place(decision)}" for decision in named)]
    return "\n".join(lines).replace("\n\n\n", "\n\n") + "\n"


def _said(book: list[Page]) -> Iterator[Found]:
    """Return what long pages say of differences; Barnabas does not get their requests in every run."""
    for page in book:
        for story in page.stories if page.is_long else ():
            for step in story.steps:
                if step.decision:
                    kafkas = "; ".join(answer.text.splitlines()[0] for answer in step.answers)
                    yield Found(page, story, step, [Difference(None, "answer", kafkas, _NOT_TOLD)])


def _rows(each: Found) -> Iterator[str]:
    """Return the rows; a difference that several versions or principals share is one row."""
    labels: dict[tuple[str, str, str], list[int | str]] = {}
    for label, field, kafkas, ours in each.differences:
        labels.setdefault((field, kafkas, ours), []).extend([] if label is None else [label])
    for (field, kafkas, ours), shared in labels.items():
        asked = f"{each.story.title}: {each.step.api or each.step.kind}{where(shared)}"
        words = [asked.replace("|", "\\|"), f"`{field}`", *(_shortened(word) for word in (kafkas, ours))]
        yield f"| {' | '.join([*words, f'[{each.step.decision}]' if each.step.decision else '**none**'])} |"


def _shortened(text: str) -> str:
    return text if text in (MISSING, _NOT_TOLD) else f"`{text}`" if len(text) <= _LONG else f"`{text[:_LONG]}` …"

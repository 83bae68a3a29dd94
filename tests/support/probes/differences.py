"""docs/differences.md: every field in which Barnabas answers otherwise than Apache Kafka, out of the probe book."""

from collections.abc import Iterator
from typing import NamedTuple

from tests.support.kafka.jars import KAFKA_VERSION
from tests.support.probes.compare import MISSING, Difference, differences
from tests.support.probes.page import Page, Step, Story
from tests.support.probes.servers import Told
from tests.support.source_tree import ROOT

PLACE = ROOT / "docs" / "differences.md"
DECISIONS = ROOT / "docs" / "decisions"
_LONG = 80
NOT_TOLD = "see the decision"
_TOP = f"""\
# Differences from Apache Kafka

Generated from `tests/golden/probes`: {{requests}} requests, valid and invalid, in every version of every API that is
offered, with the answers of Apache Kafka {KAFKA_VERSION}. Every field that is not listed is equal to Kafka's. A dash is
a field with its default value, or a missing row. A difference without a decision fails a test.
"""


class Found(NamedTuple):
    """The differences in the answers to one step."""

    page: Page
    story: Story
    step: Step
    differences: list[Difference]

    def __str__(self) -> str:
        asked = " ".join(self.step.lines[0].split()[:3])
        rows = [
            f"  {field}{_where([] if label is None else [label])}: Kafka {kafkas}, here {ours}"
            for label, field, kafkas, ours in self.differences
        ]
        return "\n".join([f"{self.page.path.name}, {self.story.title!r}, {asked} …:", *rows])


def found(page: Page, told: Told) -> Iterator[Found]:
    """Each step of the page whose answers differ, or that says so."""
    for story, answers in zip(page.stories, told, strict=True):
        for step, ours in zip(story.steps, answers, strict=True):
            differing = list(differences(step.answers, ours))
            if differing or step.decision:
                yield Found(page, story, step, differing)


def render(book: list[Page], every: list[Found]) -> str:
    """The page of documentation."""
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
                f"## {remark}",
                "",
                "| story | field | Kafka | Barnabas | decision |",
                "|---|---|---|---|---|",
            ]
        lines += _rows(each)
    named = sorted({each.step.decision for each in every if each.step.decision})
    lines += ["", *(f"[{decision}]: decisions/{_place(decision)}" for decision in named)]
    return "\n".join(lines).replace("\n\n\n", "\n\n") + "\n"


def _said(book: list[Page]) -> Iterator[Found]:
    """What long pages say of differences; they are not told to Barnabas in every run."""
    for page in book:
        for story in page.stories if page.is_long else ():
            for step in story.steps:
                if step.decision:
                    kafkas = "; ".join(answer.text.splitlines()[0] for answer in step.answers)
                    yield Found(page, story, step, [Difference(None, "answer", kafkas, NOT_TOLD)])


def _rows(each: Found) -> Iterator[str]:
    """A difference that several versions or askers share is one row."""
    labels: dict[tuple[str, str, str], list[int | str]] = {}
    for label, field, kafkas, ours in each.differences:
        labels.setdefault((field, kafkas, ours), []).extend([] if label is None else [label])
    for (field, kafkas, ours), shared in labels.items():
        asked = f"{each.story.title}: {each.step.api or each.step.kind}{_where(shared)}"
        words = [asked.replace("|", "\\|"), f"`{field}`", *(_shortened(word) for word in (kafkas, ours))]
        yield f"| {' | '.join([*words, f'[{each.step.decision}]' if each.step.decision else '**none**'])} |"


def _where(labels: list[int | str]) -> str:
    """In which versions, or to whom."""
    if not labels:
        return ""
    if isinstance(labels[0], str):
        return f" (by {', '.join(map(str, labels))})"
    return f" (v{labels[0]}–{labels[-1]})" if len(labels) > 1 else f" (v{labels[0]})"


def _shortened(text: str) -> str:
    return text if text in (MISSING, NOT_TOLD) else f"`{text}`" if len(text) <= _LONG else f"`{text[:_LONG]}` …"


def _place(decision: str) -> str:
    return next(DECISIONS.glob(f"{decision}-*.md")).name

"""Every field in which Barnabas answers otherwise than Apache Kafka, out of the probe book."""

from collections.abc import Iterator
from typing import NamedTuple

from tests.support.probes.compare import Difference, differences
from tests.support.probes.page import Page, Step, Story
from tests.support.probes.servers import Told


class Found(NamedTuple):
    """The differences in the answers to one step."""

    page: Page
    story: Story
    step: Step
    differences: list[Difference]

    def __str__(self) -> str:
        request = " ".join(self.step.lines[0].split()[:3])
        rows = [
            f"  {field}{where([] if label is None else [label])}: Kafka {kafkas}, here {ours}"
            for label, field, kafkas, ours in self.differences
        ]
        return "\n".join([f"{self.page.path.name}, {self.story.title!r}, {request} …:", *rows])


def found(page: Page, played: Told) -> Iterator[Found]:
    """Each step of the page whose answers differ, or that is marked so."""
    for story, answers in zip(page.stories, played, strict=True):
        for step, ours in zip(story.steps, answers, strict=True):
            differing = list(differences(step.answers, ours))
            if differing or step.decision:
                yield Found(page, story, step, differing)


def where(labels: list[int | str]) -> str:
    """Return in which versions, or by which users, it was sent."""
    if not labels:
        return ""
    if isinstance(labels[0], str):
        return f" (by {', '.join(map(str, labels))})"
    return f" (v{labels[0]}–{labels[-1]})" if len(labels) > 1 else f" (v{labels[0]})"

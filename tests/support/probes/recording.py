"""Asks Apache Kafka everything on a page, and writes down what it answered."""

from pathlib import Path

from tests.support.probes.page import read
from tests.support.probes.servers import answers_of_kafka


def record(path: Path, directory: Path) -> None:
    """Write the page again. Notes on differences stay."""
    page = read(path)
    for story, answers in zip(page.stories, answers_of_kafka(page, directory), strict=True):
        for step, recorded in zip(story.steps, answers, strict=True):
            step.answers = recorded
    path.write_text(page.text(), encoding="utf-8")

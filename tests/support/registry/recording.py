"""Writes into the registry's probe book what Apicurio Registry answers, where that is not what is right."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from tests.support.registry.pages import RestAnswer, RestPage, RestStep
from tests.support.registry.playing import Mismatch, RegistryAsker
from tests.support.registry.servers import ApicurioInMemory


def record(pages: Sequence[RestPage], directory: Path) -> None:
    """Write Apicurio's answers into the pages, which one server is asked; why a line is not right stays."""
    with ApicurioInMemory(directory) as server:
        asker = RegistryAsker(server.confluent_url)
        try:
            for number, page in enumerate(pages):
                if number == 1:  # what follows the page of the new registry is about other things
                    asker.ask(RestStep("PUT", "/config", body='{"compatibility": "BACKWARD"}'))
                _write(page, list(asker.play(page, by_code=True)))
        finally:
            asker.close()


def _write(page: RestPage, mismatches: Sequence[Mismatch]) -> None:
    answers = {id(each.step): each.given for each in mismatches}
    for story in page.stories:
        for step in story.steps:
            given = answers.get(id(step))
            step.apicurios = None if given is None else RestAnswer(given.status, None, _told(given.body or ""))
            step.why = step.why if given is not None else None
    page.path.write_text(page.text(), encoding="utf-8")


def _told(body: str) -> str | None:
    """Return the body if it is JSON; pages of its console are not of interest."""
    try:
        json.loads(body)
    except ValueError:
        return None
    return body

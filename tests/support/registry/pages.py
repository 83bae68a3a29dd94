"""A page of the registry's probe book: stories of requests to a schema registry, and what is right to answer.

    # Remarks stand anywhere.
    ## a schema is registered twice             a story; its subjects are its own
    POST /subjects/twice/versions              a request
    Content-Type: application/json             … its headers, if it has other ones than clients send
    > {"schema": {"type": "string"}}           … its body. A schema that is no string is sent as the text of its JSON
    < 200 {"id": "<first>", "…": 0}            what is right: Confluent's documentation, or the tests of its server
    apicurio 200 {"id": "<first>"}             what Apicurio Registry answered, where that is something else
    why: the documentation of POST             why the line above it is not right; below the title it is for the story

`<first>` is a name: it stands for the value that the first answer with it had, also in later requests. `…` in a string
is any text, and as a key it means that further keys may follow. After the status may stand the type of the content.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

BOOK = Path(__file__).resolve().parents[2] / "golden" / "registry"
_REQUEST = re.compile(r"(GET|POST|PUT|DELETE|HEAD|PATCH) (/\S*)")
_HEADER = re.compile(r"([A-Z][A-Za-z-]+): (.*)")
_ANSWER = re.compile(r"(\d{3})(?: ([a-z]+/[\w.+-]+))?(?: (.*))?")


@dataclass(frozen=True)
class RestAnswer:
    """A status, the type of the content if it is of interest, and the body as text; None if no body is of interest."""

    status: int
    content_type: str | None = None
    body: str | None = None

    def __str__(self) -> str:
        return " ".join(str(part) for part in (self.status, self.content_type, self.body) if part is not None)


@dataclass
class RestStep:
    """A request and its answers."""

    method: str
    path: str
    headers: dict[str, str] = field(default_factory=dict)
    body: str | None = None
    right: RestAnswer | None = None
    apicurios: RestAnswer | None = None
    why: str | None = None
    remarks: list[str] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        """Yield its lines in the page."""
        yield from self.remarks
        yield f"{self.method} {self.path}"
        yield from (f"{name}: {value}" for name, value in self.headers.items())
        if self.body is not None:
            yield f"> {self.body}"
        yield f"< {self.right}"
        if self.apicurios is not None:
            yield f"apicurio {self.apicurios}"
        if self.why is not None:
            yield f"why: {self.why}"


@dataclass
class RestStory:
    """Requests that follow each other."""

    title: str
    why: str | None = None
    remarks: list[str] = field(default_factory=list)
    steps: list[RestStep] = field(default_factory=list)


@dataclass
class RestPage:
    """The stories of a file."""

    path: Path
    stories: list[RestStory]
    remarks: list[str]

    @property
    def name(self) -> str:
        return self.path.stem

    def text(self) -> str:
        """Return the page as it stands in its file."""
        parts = [self.remarks, *map(_story_lines, self.stories)]
        return "\n\n".join("\n".join(lines) for lines in parts if lines) + "\n"


def read_page(path: Path) -> RestPage:
    """Read a page. ValueError for a line that is none of its notation."""
    page = RestPage(path, [], [])
    remarks: list[str] = page.remarks
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if line.startswith("## "):
            page.stories.append(RestStory(line.removeprefix("## ")))
            remarks = page.stories[-1].remarks
        elif line.startswith("#"):
            if page.stories and page.stories[-1].steps and remarks is page.stories[-1].remarks:
                remarks = []
            remarks.append(line)
        elif line:
            remarks = _take(page, line, remarks, f"{path.name}:{number}")
    return page


def pages() -> list[RestPage]:
    """Return all pages, in the order of their names."""
    return [read_page(path) for path in sorted(BOOK.glob("*.txt"))]


def _take(page: RestPage, line: str, remarks: list[str], where: str) -> list[str]:
    """Add a line to the story or the step that it belongs to; return the list for the remarks that follow."""
    if not page.stories:
        raise ValueError(f"{where}: {line}")
    story = page.stories[-1]
    step = story.steps[-1] if story.steps else None
    if (request := _REQUEST.fullmatch(line)) is not None:
        own = remarks if remarks is not story.remarks else []
        story.steps.append(RestStep(request[1], request[2], remarks=own))
        return []
    if line.startswith("why: "):
        text = line.removeprefix("why: ")
        if step is None:
            story.why = text
        else:
            step.why = text
    elif step is None:
        raise ValueError(f"{where}: {line}")
    elif line.startswith("> "):
        step.body = line.removeprefix("> ")
    elif line.startswith("< "):
        step.right = _answer_of(line.removeprefix("< "), where)
    elif line.startswith("apicurio "):
        step.apicurios = _answer_of(line.removeprefix("apicurio "), where)
    elif (header := _HEADER.fullmatch(line)) is not None and step.right is None:
        step.headers[header[1]] = header[2]
    else:
        raise ValueError(f"{where}: {line}")
    return []


def _answer_of(text: str, where: str) -> RestAnswer:
    found = _ANSWER.fullmatch(text)
    if found is None:
        raise ValueError(f"{where}: {text}")
    return RestAnswer(int(found[1]), found[2], found[3])


def _story_lines(story: RestStory) -> list[str]:
    why = [] if story.why is None else [f"why: {story.why}"]
    return [f"## {story.title}", *story.remarks, *why, *(line for step in story.steps for line in step.lines())]

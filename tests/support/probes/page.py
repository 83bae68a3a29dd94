"""A page of the probe book: stories played to a server, and the answers of Apache Kafka.

    # Remarks stand anywhere.
    topic: f                               exists before the first story: a topic of three partitions
    topic: small max.message.bytes=200     … with settings
    setting: transaction.version=1         a setting of the server
    feature: transaction.version=1         what the server's directory is formatted with
    slowly: markers                        Barnabas takes its time with them, as Kafka does
    long: 260,000 requests                 a page that runs with scripts/test --long only
    secured: rights                        the users of stories, and the server's set-up: secured.py

    ## from the middle of a batch          a story; it has its own connection
    > Fetch v4-6 min_bytes=1               a request, in these versions one after the other
        topics: topic=f
          partitions: partition=0 fetch_offset=15
    < v4-5 error_code=NONE                 what Kafka answered in versions 4 and 5
        responses: …
    < v6 error_code=NONE
    differs: 0060                          Barnabas answers otherwise; docs/decisions/README.md has the place

    b> Heartbeat …                         on another connection of the story, named b
    >> EndTxn …                            goes out in one piece with the request after it, where its answer stands, too
    await b                                send what is held on connection b, and read the answers there
    send 16030100                          bytes that are no request; `end` means that no more follow
    send Metadata v1 00000012…             the same; what comes back is read as an answer of this API and version
    until CompleteCommit                   ask the next request again until its answer has this in it
    until not Prepare                      … or has it not
    times 32767                            send the next request so often; the last answer is shown
    by alice, bob                          each of them sends the next request, on their own connection
    by each right                          … one without rights, one for each right of the API's row, and one with all
    < [alice, bob] error_code=NONE         what both were answered
    token auth_bytes=0x00                  bytes of SASL with nothing around them, as behind SaslHandshake v0
    listen                                 see whether more comes, or the end

An answer may also be `closed`, when the server ended the connection, or `silent`. Where the server has a
connection.failed.authentication.delay.ms, an answer not before that is `late=true`, or `closed late`.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.probes.askers import askers
from tests.support.probes.tree import INDENT, Node, parse
from tests.support.probes.wire import CLOSED, CLOSED_LATE, SILENT
from tests.support.source_tree import ROOT

BOOK = ROOT / "tests" / "golden" / "probes"

ASKED_BEFORE: dict[str, set[tuple[str, int]]] = {
    "": set(),
    "plain": {("SaslHandshake", 1)},
    "oauthbearer": {("SaslHandshake", 1)},
    "scram": {("SaslHandshake", 1), ("AlterUserScramCredentials", 0)},
    "rights": {("SaslHandshake", 1), ("CreateAcls", 3), ("DescribeAcls", 3)},
    "acls": {("SaslHandshake", 1)},
    "certificates": set(),
}
"""The requests to a secured server before its stories, by the word behind `secured:`."""

_ASKED = re.compile(r"([a-z]?)(>>?) (\w+) v(\d+)(?:-(\d+))?(?: (.*))?")
_BYTES = re.compile(r"([a-z]?) ?send(?: (\w+) v(\d+))?((?: [0-9a-f]+)*)")
_TOKEN = re.compile(r"([a-z]?) ?token (.*)")
_OTHER = re.compile(r"(end|await|listen)(?: ([a-z]))?")
_ANSWER = re.compile(r"<(?: v(\d+)(?:-(\d+))?(?= |$))?(?: \[([^]]*)\])?(?: (.*))?")
_GIVEN = re.compile(r"(topic|setting|feature|slowly|long|secured): (\S+)(?: (.*))?")


@dataclass(frozen=True)
class Answer:
    """What came back: a Node, or CLOSED or SILENT.

    `label`: the version, where one request is sent in several, or the user, where several sent it.
    """

    label: int | str | None
    content: Node | str

    @property
    def text(self) -> str:
        return self.content if isinstance(self.content, str) else self.content.text()


@dataclass
class Step:
    """One thing that is done, and what came back."""

    kind: str  # "ask", "send", "token", "end", "await" or "listen"
    lines: list[str]
    connection: str = ""
    api: str = ""
    versions: range = range(0)
    request: Node = field(default_factory=Node)
    is_awaited: bool = True
    data: bytes = b""
    before: str = ""
    answers: list[Answer] = field(default_factory=list)
    decision: str = ""

    @property
    def until(self) -> str:
        """What the answer must have in it, or with "not" before it must not, for the asking to end."""
        return self.before.removeprefix("until ") if self.before.startswith("until ") else ""

    @property
    def times(self) -> int:
        return int(self.before.removeprefix("times ")) if self.before.startswith("times ") else 1

    @property
    def askers(self) -> tuple[str, ...]:
        """The user who sends, if not that of the connection."""
        return askers(self.before.removeprefix("by "), self.api) if self.before.startswith("by ") else ()


@dataclass
class Story:
    """What happens under one heading."""

    title: str
    parts: list[str | Step] = field(default_factory=list)  # remarks and empty lines as they are

    @property
    def steps(self) -> list[Step]:
        return [part for part in self.parts if isinstance(part, Step)]


@dataclass
class Page:
    """A file of stories, played in order to one fresh server."""

    path: Path
    head: list[str] = field(default_factory=list)
    topics: dict[str, dict[str, str]] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)
    features: dict[str, str] = field(default_factory=dict)
    has_slow_markers: bool = False
    is_long: bool = False
    secured: str = ""
    stories: list[Story] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def has_transactions(self) -> bool:
        """Whether a coordinator of transactions must be there."""
        return self.name.startswith(("txn_", "rights_transactions"))

    @property
    def has_share_groups(self) -> bool:
        """Whether a share coordinator must be there."""
        return "share.coordinator.state.topic.num.partitions" in self.settings

    @property
    def asked(self) -> set[tuple[str, int]]:
        """(API, version) of each request, those that prepare a secured server with them."""
        return ASKED_BEFORE[self.secured] | {
            (step.api, version)
            for story in self.stories
            for step in story.steps
            for version in step.versions
            if step.api
        }

    def text(self) -> str:
        lines = [*self.head]
        for story in self.stories:
            lines.append(f"## {story.title}")
            for part in story.parts:
                lines += [part] if isinstance(part, str) else _step_lines(part)
        return "\n".join(lines) + "\n"


def pages() -> list[Page]:
    return [read(path) for path in sorted(BOOK.glob("*.txt"))]


def read(path: Path) -> Page:
    """The page in the file. ValueError, with the line, for an invalid page."""
    page = Page(path)
    lines = path.read_text(encoding="utf-8").splitlines()
    position, before = 0, ""
    while position < len(lines):
        line, nested = lines[position], _nested(lines, position)
        position += 1 + len(nested)
        try:
            if line.startswith("## "):
                page.stories.append(Story(line[3:]))
            elif not page.stories:
                _read_head(page, line)
            elif line.startswith(("until ", "times ", "by ")):
                before = line
            else:
                _read_part(page.stories[-1], line, nested, before)
                before = "" if line and line[0] != "#" else before
        except ValueError as error:
            raise ValueError(f"{path.name}:{position - len(nested)}: {line}: {error}") from error
    return page


def _nested(lines: list[str], position: int) -> list[str]:
    end = position + 1
    while end < len(lines) and lines[end].startswith(INDENT):
        end += 1
    return lines[position + 1 : end]


def _read_head(page: Page, line: str) -> None:
    page.head.append(line)
    if match := _GIVEN.fullmatch(line):
        kind, name, rest = match[1], match[2], match[3] or ""
        if kind == "topic":
            page.topics[name] = dict(word.split("=", 1) for word in rest.split())
        elif kind == "long":
            page.is_long = True
        elif kind == "secured":
            page.secured = name
        elif kind == "slowly":
            page.has_slow_markers = True
        else:
            key, _, value = name.partition("=")
            (page.settings if kind == "setting" else page.features)[key] = value
    elif line and not line.startswith("#"):
        raise ValueError("before the first story there are topics, settings, features and remarks")


def _read_part(story: Story, line: str, nested: list[str], before: str) -> None:
    if match := _ASKED.fullmatch(line):
        first, last = int(match[4]), int(match[5] or match[4])
        step = Step("ask", [line, *nested], match[1], match[3], range(first, last + 1))
        step.request, step.is_awaited, step.before = parse(match[6] or "", nested), match[2] == ">", before
        story.parts.append(step)
    elif match := _BYTES.fullmatch(line):
        version = int(match[3] or 0)
        step = Step("send", [line, *nested], match[1], match[2] or "", range(version, version + 1))
        step.data = bytes.fromhex("".join([match[4], *nested]))
        story.parts.append(step)
    elif match := _TOKEN.fullmatch(line):
        story.parts.append(Step("token", [line], match[1], request=parse(match[2], [])))
    elif match := _OTHER.fullmatch(line):
        story.parts.append(Step(match[1], [line], match[2] or ""))
    elif match := _ANSWER.fullmatch(line):
        words = match[4] or ""
        is_word = words in (CLOSED, CLOSED_LATE, SILENT) or words.startswith("0x")
        _add_answers(_last(story), match, words if is_word else parse(words, nested))
    elif line.startswith("differs: "):
        _last(story).decision = line.removeprefix("differs: ")
    elif not line or line.startswith("#"):
        story.parts.append(line)
    else:
        raise ValueError("neither a request nor an answer nor a remark")


def _add_answers(step: Step, match: re.Match[str], content: Node | str) -> None:
    if match[3]:
        step.answers.extend(Answer(asker, content) for asker in match[3].split(", "))
        order = {asker: number for number, asker in enumerate(step.askers)}
        step.answers.sort(key=lambda answer: order.get(str(answer.label), len(order)))
        return
    low, high = match[1], match[2] or match[1]
    labels: Iterable[int | None] = range(int(low), int(high) + 1) if low else (None,)
    step.answers.extend(Answer(label, content) for label in labels)


def _last(story: Story) -> Step:
    if not story.parts or not isinstance(story.parts[-1], Step):
        raise ValueError("there is no request above it")
    return story.parts[-1]


def _step_lines(step: Step) -> Iterator[str]:
    if step.before:
        yield step.before
    yield from step.lines
    yield from answer_lines(step.answers)
    if step.decision:
        yield f"differs: {step.decision}"


def answer_lines(answers: list[Answer]) -> Iterator[str]:
    """Equal answers to several users are shown once, and so are those in consecutive versions."""
    if answers and isinstance(answers[0].label, str):
        shared: dict[str, list[Answer]] = {}
        for answer in answers:
            shared.setdefault(answer.text, []).append(answer)
        for equal in shared.values():
            yield from _written(f"< [{', '.join(str(answer.label) for answer in equal)}]", equal[0])
        return
    position = 0
    while position < len(answers):
        first, end = answers[position], position + 1
        while first.label is not None and end < len(answers) and answers[end].text == first.text:
            end += 1
        label = "<" if first.label is None else f"< v{first.label}"
        if end - position > 1:
            label += f"-{answers[end - 1].label}"
        yield from _written(label, first)
        position = end


def _written(label: str, answer: Answer) -> Iterator[str]:
    if isinstance(answer.content, str):
        yield f"{label} {answer.content}"
    else:
        yield f"{label} {answer.content.head()}".rstrip()
        yield from answer.content.lines()

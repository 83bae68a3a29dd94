"""Pages of command lines for Kafka's tools, each with what Kafka's own tool prints and returns: tests/golden/tools.

A line of a page is a comment (`#`), a command (`$`), a line of its stdin (`<`), a line that it prints (`|`) or prints
on stderr (`!`), its exit status (`=`), or why the answer of Barnabas is another (`differs:`). Left out is what belongs
to a JVM: the table of all options behind a wrong one, stack frames, and lines of a log. So are warnings that a flag is
deprecated, which Kafka's console tools print on stdout, among the records.
"""

import json
import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import compress
from pathlib import Path

from tests.support.source_tree import ROOT

PAGES = sorted((ROOT / "tests" / "golden" / "tools").glob("*.txt"))
SETTINGS = {
    "offsets.topic.num.partitions": 1,
    "transaction.state.log.num.partitions": 1,
    "group.initial.rebalance.delay.ms": 0,
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}


def records_to_delete(*places: tuple[str, int, int]) -> str:
    """What kafka-delete-records reads: a topic, a partition and an offset each."""
    partitions = [{"topic": topic, "partition": number, "offset": offset} for topic, number, offset in places]
    return json.dumps({"version": 1, "partitions": partitions})


FILES = {
    "client.properties": "request.timeout.ms=20000\n",
    "impatient.properties": "default.api.timeout.ms=600\nrequest.timeout.ms=500\n",
    "topic.properties": "segment.ms=700000\nflush.ms=5000\n",
    "offsets.csv": "orders,0,1\norders,1,99\n",
    "records.json": records_to_delete(("orders", 0, 1), ("orders", 1, -1)),
    "unfit-records.json": records_to_delete(("orders", 0, 99), ("orders", 1, 3)),
    "records-twice.json": records_to_delete(("orders", 0, 1), ("orders", 0, 2)),
    "half.json": '{"version": 1, "partitions": []',
    "share.csv": "jobs,0,1\njobs,1,99\n",
    "shared.csv": '"workers","jobs",0,2\n"writers","jobs",1,1\n',
    "streams.csv": "lines,0,1\nlines,1,99\n",
    "grouped.csv": '"readers","orders",0,2\n"writers","orders",1,1\n',
}
_SERVER = "localhost:9092"
_LEFT_OUT = re.compile(
    r"""\d{4}-\d\d-\d\d\ \d\d:\d\d:\d\d,\d+\ (ERROR|WARN|INFO)\ |\ \([\w.$]+\)$  # of a log, and its last line
    |WARN\ New\ offset
    |\s+at\ |Caused\ by:\ |\s+\.\.\.\ \d+\ more|exit\ \d$|Tools\$Exited:\ |com\.fasterxml\.  # of a stack
    |net\.sourceforge\.argparse4j\.
    |(Error:\ )?.*\ failed\ due\ to\ exit\ \d$|Error\ while\ executing\ ACL\ command:\ exit\ \d$
    |org\.apache\.kafka\.common\.errors\.TimeoutException$
    |The\ consumer\ rebalance\ protocol\ .*\ production-ready|.*\ deprecated\ and\ will\ be\ removed""",
    re.VERBOSE,
)
_OPTIONS = re.compile(r"Option( \(\* = required\))? +Description|usage: |--[a-z-]+( <String>)?$")
_MASKS = {
    r'^(Exception in thread "main" )?joptsimple\.\w+: ': "",
    r"(?<=TopicId: )\S{22}": "<id>",
    r"(?<=[Cc]luster ID: )[\w-]{22}|(?<=ClusterId: {14})[\w-]{22}": "<id>",
    r"(?<=HighWatermark: {10})\d+|(?<=LeaderEpoch: {12})\d+": "<number>",
    r'"directoryId": "[\w-]{22}", "endpoints": \[".*"\]': '"directoryId": "<id>", "endpoints": ["<endpoint>"]',
    r"^1 +\t[\w-]{22}\t\d+ +\t0  \t\d+ +\t\d+ +\tLeader": "1 <id> <offset> 0 <time> <time> Leader",
    r"(java\.\S+Exception: )?(org\.apache\.kafka\.|java\.|kafka\.)[\w.$]+(Exception|Error): ": "",
    r" with args '.*'": "",
    r"(?<=^1 {10}127\.0\.0\.1 )\d+ +(?=null)": "<port> ",
    r"^\d+\.\d+\.\d+(-SNAPSHOT)?( \(.*\))?$": "<version>",
}


@dataclass
class Entry:
    """A command line, and what came of it."""

    words: str
    stdin: list[str] = field(default_factory=list)
    out: list[str] = field(default_factory=list)
    err: list[str] = field(default_factory=list)
    status: int | None = None
    differs: str | None = None
    above: list[str] = field(default_factory=list)
    """Comments before it."""

    @property
    def answer(self) -> tuple[int | None, list[str], list[str]]:
        """What is compared."""
        return self.status, self.out, self.err

    def arguments(self, server: str, files: Path) -> tuple[str, list[str]]:
        """The tool's name and its arguments, for the broker at an address."""
        name, *words = shlex.split(self.words)
        return name.removesuffix(".sh"), [word.replace(_SERVER, server).replace("{dir}", str(files)) for word in words]


def read_page(path: Path) -> list[Entry]:
    """The entries of a page, in order."""
    entries: list[Entry] = []
    above: list[str] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        mark, text = line[:1], line[2:]
        if mark == "#":
            above.append(line)
        elif mark == "$":
            entries.append(Entry(text, above=above))
            above = []
        elif mark in "<|!" and mark:
            {"<": entries[-1].stdin, "|": entries[-1].out, "!": entries[-1].err}[mark].append(text)
        elif mark == "=":
            entries[-1].status = int(text)
        elif line.startswith("differs: "):
            entries[-1].differs = line.removeprefix("differs: ")
        else:
            assert not line, f"{path.name}: {line}"
    return entries


def write_page(path: Path, entries: list[Entry]) -> None:
    """Write a page again."""
    path.write_text("\n".join(_lines(entries)) + "\n", encoding="utf-8")


def _lines(entries: list[Entry]) -> Iterator[str]:
    for entry in entries:
        yield from entry.above
        yield f"$ {entry.words}"
        for mark, texts in (("<", entry.stdin), ("|", entry.out), ("!", entry.err)):
            yield from (f"{mark} {text}".rstrip() for text in texts)
        if entry.status is not None:
            yield f"= {entry.status}"
        if entry.differs:
            yield f"differs: {entry.differs}"
        yield ""


def tidied(text: str, server: str, files: Path) -> list[str]:
    """The lines that a tool printed, without what differs from run to run or belongs to a JVM."""
    found = []
    for line in text.splitlines():
        if _OPTIONS.match(line):
            break
        if not _LEFT_OUT.match(line):
            found.append(_masked(line.replace(server, _SERVER).replace(str(files), "{dir}")).rstrip())
    return _without_outer_blanks(found)


def _masked(line: str) -> str:
    for pattern, word in _MASKS.items():
        line = re.sub(pattern, word, line)
    return line


def _without_outer_blanks(lines: list[str]) -> list[str]:
    while lines and not lines[-1]:
        lines.pop()
    while lines and not lines[0]:
        lines.pop(0)
    return lines


def answered(
    entry: Entry, server: str, files: Path, run: Callable[[str, list[str], str], tuple[int, str, str]]
) -> tuple[int, list[str], list[str]]:
    """What a tool made of the command: `run` takes the tool's name, its arguments and stdin."""
    name, arguments = entry.arguments(server, files)
    status, out, err = run(name, arguments, "".join(f"{line}\n" for line in entry.stdin))
    printed, complaints = tidied(out, server, files), tidied(err, server, files)
    printed = [line for at, line in enumerate(printed) if not (line and at and printed[at - 1].endswith(f": {line}"))]
    is_new = [not any(line.endswith(complaint) for line in printed) for complaint in complaints]  # no head of a stack
    return status, printed, list(dict.fromkeys(compress(complaints, is_new)))


def is_alike(entry: Entry, answer: tuple[int, list[str], list[str]]) -> bool:
    """Whether an answer is the page's. Tables, and sets in a sentence, are sorted by Java's hash: not so records."""
    if "-consumer.sh" in entry.words:
        return entry.answer == answer
    return _comparable(entry.answer) == _comparable(answer)


def _comparable(answer: tuple[int | None, list[str], list[str]]) -> tuple[int | None, list[str], list[list[str]]]:
    status, out, err = answer
    return status, sorted(line.strip() for line in out), _words(err)


def _words(lines: list[str]) -> list[list[str]]:
    return [sorted(re.split(r"[\s,\[\]]+", line)) for line in lines]

"""Kafka's command-line tools print the same for Barnabas as for Apache Kafka 4.4.0: each option of each, once.

The tools run in one JVM, each command against the one broker and then against the other.
"""

import re
import time
from pathlib import Path

from tests.compat.tools import ACLS, PRODUCER, Tools
from tests.oracle.tools.commands import COMMANDS, FILES, RECORDS, UNASKED
from tests.oracle.tools.differences import KNOWN
from tests.support.kafka.process import ONE_NODE, KafkaProcess
from tests.support.processes.broker import BrokerProcess
from tests.support.processes.server import Server

WITHOUT_ELR = ("--feature", "eligible.leader.replicas.version=0")  # decision 0030
SETTINGS = {
    "offsets.topic.num.partitions": 1,
    "transaction.state.log.num.partitions": 1,
    "log.retention.ms": -1,
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}
_OPTION = re.compile(r"^(--[a-z][a-z.-]+)", re.MULTILINE)
OF_ITS_VIEW = ("--describe", "--delete-config", "--list")
_STACK = ("at ", "Caused by:")
_AS_BEFORE = ("(principal=", "Current ACLs")  # in Kafka, what is listed behind a change of ACLs may be older
_MASKS = {
    r"TopicId: \S{22}": "TopicId: <id>",
    r"(?<=metrics config for )[\w-]{22}": "<id>",
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S*": "<time>",
    r"clientId=adminclient-\d+": "clientId=<any>",
    r"directoryId=[\w-]{22}": "directoryId=<id>",
    r'"usableBytes":\d+': '"usableBytes":<any>',
    r'"size":[1-9]\d*': '"size":<some>',  # of records, whose times take more or fewer bytes
}
CATCHES_UP_S = 10.0  # a Kafka describes what it has read of its own metadata: not always its latest change

Told = dict[str, list[str]]
"""What each command printed."""


def run(tools: Tools, server: Server, tool: str, words: str, files: Path) -> list[str]:
    """How a tool ended and what it printed, line by line, sorted; what is the broker's own is masked."""
    arguments = words.format(dir=files).split()
    stdin = RECORDS if tool == PRODUCER else ""
    said = tools.run(tool, "--bootstrap-server", server.address, *arguments, stdin=stdin)
    text = f"{said.out}\n{said.err}".replace(str(server.data_dir), "<data>").replace(str(files), "{dir}")
    text = text.replace(f":{server.port}", ":<port>")
    for pattern, word in _MASKS.items():
        text = re.sub(pattern, word, text, flags=re.MULTILINE)
    unwanted = _STACK if tool != ACLS or "--list" in words else (*_STACK, *_AS_BEFORE)
    lines = (line.strip() for line in text.splitlines())
    return [f"status {said.status}", *sorted(line for line in lines if line and not line.startswith(unwanted))]


def test_tools_say_of_barnabas_what_they_say_of_kafka(tools: Tools, tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    kafka, barnabas = {}, {}
    with (
        KafkaProcess(tmp_path / "kafka" / "data", SETTINGS, format_arguments=WITHOUT_ELR) as of_kafka,
        BrokerProcess(tmp_path / "barnabas" / "data", SETTINGS | ONE_NODE) as of_barnabas,
    ):
        for number, (tool, words) in enumerate(COMMANDS):
            name = f"{number} {tool.rpartition('.')[2]} {words}"
            kafka[name] = run(tools, of_kafka, tool, words, tmp_path)
            barnabas[name] = run(tools, of_barnabas, tool, words, tmp_path)
            is_of_the_brokers_view = any(word in words for word in OF_ITS_VIEW)  # which may be older
            may_catch_up_until = time.monotonic() + (
                CATCHES_UP_S if is_of_the_brokers_view and not _is_known(name) else 0
            )
            while kafka[name] != barnabas[name] and time.monotonic() < may_catch_up_until:
                kafka[name] = run(tools, of_kafka, tool, words, tmp_path)
    differing = [name for name in kafka if kafka[name] != barnabas[name]]
    unknown = [name for name in differing if not _is_known(name)]
    assert not unknown, "\n".join(_shown(name, kafka, barnabas) for name in unknown)
    settled = [pattern for pattern in KNOWN if not any(re.match(rf"\d+ {pattern}", name) for name in differing)]
    assert not settled, "no difference needs these any more"


def _is_known(name: str) -> bool:
    return any(re.match(rf"\d+ {pattern}", name) for pattern in KNOWN)


def _shown(name: str, kafka: Told, barnabas: Told) -> str:
    only = [f"  Kafka:    {line}" for line in kafka[name] if line not in barnabas[name]]
    return "\n".join([name, *only, *(f"  Barnabas: {line}" for line in barnabas[name] if line not in kafka[name])])


def test_every_option_is_asked_for(tools: Tools) -> None:
    missing = set()
    for tool in dict.fromkeys(tool for tool, _ in COMMANDS if tool != PRODUCER):
        said = tools.run(tool, "--help")
        asked = {word for each, words in COMMANDS if each == tool for word in words.split()}
        options = set(_OPTION.findall(said.out + said.err)) - UNASKED.keys()
        missing |= {f"{tool} {option}" for option in options - asked}
    assert not missing

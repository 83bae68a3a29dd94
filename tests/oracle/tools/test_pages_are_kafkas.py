"""What the pages in tests/golden/tools say of Kafka's tools is what Kafka's tools say of Apache Kafka.

`--record kafka` writes their answers into the pages.
"""

import time
from pathlib import Path

import pytest

from tests.compat import tools as classes
from tests.compat.tools import Tools
from tests.oracle.tools.test_tools import CATCHES_UP_S, OF_ITS_VIEW, WITHOUT_ELR
from tests.support.kafka.process import ONE_NODE, KafkaProcess
from tests.support.kafka.tool_pages import FILES, PAGES, SETTINGS, answered, is_alike, read_page, write_page

CLASSES = {
    "kafka-acls": classes.ACLS,
    "kafka-broker-api-versions": classes.API_VERSIONS,
    "kafka-cluster": classes.CLUSTER,
    "kafka-configs": classes.CONFIGS,
    "kafka-console-consumer": classes.CONSUMER,
    "kafka-console-producer": classes.PRODUCER,
    "kafka-console-share-consumer": classes.SHARE_CONSUMER,
    "kafka-consumer-groups": classes.GROUPS,
    "kafka-delete-records": classes.DELETE_RECORDS,
    "kafka-get-offsets": classes.OFFSETS,
    "kafka-groups": classes.ALL_GROUPS,
    "kafka-metadata-quorum": classes.QUORUM,
    "kafka-share-groups": classes.SHARE_GROUPS,
    "kafka-streams-groups": classes.STREAMS_GROUPS,
    "kafka-topics": classes.TOPICS,
}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_kafka_answers_as_the_page_says(
    page: Path, tools: Tools, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)

    def run(name: str, arguments: list[str], stdin: str) -> tuple[int, str, str]:
        return tools.run(CLASSES[name], *arguments, stdin=stdin)

    entries = read_page(page)
    found = []
    with KafkaProcess(tmp_path / "data", ONE_NODE | SETTINGS, format_arguments=WITHOUT_ELR) as kafka:
        for entry in entries:
            answer = answered(entry, kafka.address, tmp_path, run)
            may_catch_up_until = time.monotonic() + CATCHES_UP_S * any(word in entry.words for word in OF_ITS_VIEW)
            while entry.status is not None and not is_alike(entry, answer) and time.monotonic() < may_catch_up_until:
                answer = answered(entry, kafka.address, tmp_path, run)
            found.append(answer)
    if request.config.getoption("--record"):
        for entry, (status, out, err) in zip(entries, found, strict=True):
            entry.status, entry.out, entry.err = status, out, err
        write_page(page, entries)
    wrong = [(entry, answer) for entry, answer in zip(entries, found, strict=True) if not is_alike(entry, answer)]
    assert not wrong, "\n".join(f"$ {entry.words}\n  {entry.answer}\n  {answer}" for entry, answer in wrong)

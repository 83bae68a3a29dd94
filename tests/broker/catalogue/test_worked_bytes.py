"""The bytes in docs/formats/catalogue.md are the bytes that are written."""

import re
from pathlib import Path

from barnabas.protocol.records.batch import iter_batches
from barnabas.protocol.records.record import iter_records
from tests.support.worlds.catalogue import DIRECTORY_ID, CatalogueWorld

PAGE = Path(__file__).parents[3] / "docs" / "formats" / "catalogue.md"
WORKED = re.compile(r"^(KRaft\w+|LeaderChange|\w+Record) +([0-9a-f ]+(?:<\w+>[0-9a-f ]+)*)$", re.MULTILINE)


def test_the_worked_bytes_are_what_is_written() -> None:
    world = CatalogueWorld()
    topic_id = world.catalogue.create_topic("bt", 1, {"retention.ms": "-1"}).topic_id
    world.catalogue.allocate_producer_ids()
    world.catalogue.close()
    data = world.log()
    batches = [memoryview(data)[position:] for position, _ in iter_batches(data)]
    written = {record.value.hex() for batch in batches for record in iter_records(batch) if record.value is not None}
    text = PAGE.read_text().replace("<topic>", topic_id.hex()).replace("<directory>", DIRECTORY_ID.hex())
    documented = {name: value.replace(" ", "") for name, value in WORKED.findall(text)}
    assert len(documented) == 9
    assert {name for name, value in documented.items() if value not in written} == set()

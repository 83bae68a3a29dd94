"""`barnabas seed` and `barnabas snapshot`: files, standard output and bad input."""

import json
from pathlib import Path

from barnabas.broker.server.seeding.document import json_schema
from tests.support.command_line import Barnabas

SEED = {"topics": [{"name": "seeded", "partitions": 1, "records": [{"value": "a castle"}]}]}
FIRST = "0-seeded"  # by its name: the broker has topics of other files, too


def test_a_seed_goes_in_and_comes_out_again(barnabas: Barnabas, tmp_path: Path) -> None:
    seed, out = tmp_path / "seed.json", tmp_path / "out.json"
    seed.write_text(json.dumps(SEED))
    assert barnabas("seed", str(seed)) == (0, f"{seed}: applied 1 topic, 1 record\n", "")
    status, printed, _ = barnabas("snapshot", "--output", str(out))
    assert (status, printed.startswith(f"{out}: ")) == (0, True)
    (topic,) = (each for each in json.loads(out.read_text())["topics"] if each["name"] == "seeded")
    assert [record["value"] for record in topic["records"]] == ["a castle"]
    assert json.loads(barnabas("snapshot").stdout) == json.loads(out.read_text())
    assert barnabas("topics", "delete", "seeded").status == 0


def test_nothing_is_left_of_a_snapshot_that_fails(barnabas: Barnabas, tmp_path: Path) -> None:
    seed = tmp_path / "seed.json"
    seed.write_text(json.dumps({"topics": [{"name": FIRST, "records": [{"value": "x", "partition": 0}] * 3}]}))
    assert barnabas("seed", str(seed)).status == 0
    for where in ([], ["--output", str(tmp_path / "out.json")]):
        refused = barnabas("snapshot", "--max-records", "2", *where)
        assert refused == (1, "", f"barnabas: {FIRST}-0 has more than 2 records: raise --max-records\n")
    assert list(tmp_path.iterdir()) == [seed]
    assert barnabas("topics", "delete", FIRST).status == 0


def test_the_schema_needs_no_broker(offline: Barnabas) -> None:
    status, printed, _ = offline("seed", "--schema")
    assert (status, json.loads(printed)) == (0, json_schema())


def test_a_seed_is_named_or_its_schema_asked_for(offline: Barnabas, tmp_path: Path) -> None:
    missing = "barnabas: seed: name the file of a seed, or --schema\n"
    assert offline("seed") == offline("seed", "x", "--schema") == (2, "", missing)
    path = tmp_path / "none.yaml"
    assert offline("seed", str(path)) == (1, "", f"barnabas: {path}: no such file or directory\n")

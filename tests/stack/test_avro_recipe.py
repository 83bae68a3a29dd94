"""The recipe for Avro in docs/recipes.md with Apicurio Registry and with ours, beside Confluent's own serializers."""

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.support.clients import topics
from tests.support.pages.recipes import Recipe
from tests.support.processes.server import ROOT, Server
from tests.support.registry.servers import RegistryBroker
from tests.support.stack.avro import read_avro, write_avro
from tests.support.stack.registry import Registry
from tests.support.waiting import PATIENCE_S

_PYTHON = ROOT / ".venv-spark" / "bin" / "python"
_SECTION, _ADDRESS, _URL = "Avro with a schema registry", "127.0.0.1:9092", "http://127.0.0.1:8081"
_NEWER = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "merchant", "type": "string"},
        {"name": "amount", "type": ["null", "long"], "default": None},
        {"name": "note", "type": "string", "default": ""},
    ],
}
_FILE = """\
import json, sys
from pyarrow import Table, parquet
parquet.write_table(Table.from_pylist(json.loads(sys.argv[1])), sys.argv[2])
"""
_ALL = "import runpy, sys; [runpy.run_path(each, run_name='__main__') for each in sys.argv[1:]]"


def _spark(*arguments: str) -> None:
    """Python with Spark, which this environment has not."""
    environment = {"PYSPARK_PYTHON": str(_PYTHON), "BARNABAS_FORM": "pure", "SPARK_LOCAL_IP": "127.0.0.1"}
    environment |= {"JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
    done = subprocess.run(
        [_PYTHON, *arguments],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-8000:]


def _by_key(orders: Sequence[dict[str, object]]) -> dict[str, dict[str, object]]:
    return {str(order["id"]): order for order in orders}


def test_the_recipe_and_confluents_serializers_read_each_other(server: Server, tmp_path: Path) -> None:
    orders: list[dict[str, object]] = [{"id": n, "merchant": "m", "amount": n if n % 3 else None} for n in range(20)]
    theirs: list[dict[str, object]] = [{"id": n, "merchant": "ü", "amount": n, "note": "new"} for n in range(100, 103)]
    known = [{name: value for name, value in each.items() if name != "note"} for each in (*orders, *theirs)]
    expected = [{name: value for name, value in each.items() if value is not None} for each in known]
    with Registry(tmp_path / "apicurio", server.address) as apicurio, RegistryBroker(tmp_path / "ours") as ours:
        places = {"with_apicurio": (server.address, apicurio.confluent_url), "alone": (ours.address, ours.registry_url)}
        programs: list[str] = []
        for name, (address, url) in places.items():
            files = tmp_path / name / "data" / "orders" / "2026-11-21"
            files.mkdir(parents=True)
            _spark("-c", _FILE, json.dumps(orders), str(files / "part.parquet"))
            with Recipe(_SECTION, tmp_path / name, {_ADDRESS: address, _URL: url}) as recipe:
                programs += [str(recipe.program(1)), str(recipe.program(2))]
            write_avro(address, url, "orders", json.dumps(_NEWER), _by_key(theirs))
        _spark("-c", _ALL, *programs)  # one start of Spark for both
        for address, url in places.values():
            assert read_avro(address, url, "orders") == _by_key([*orders, *theirs])
            found = [json.loads(record.value) for record in topics.committed(address, "orders.json")]
            assert sorted(found, key=lambda each: each["id"]) == expected

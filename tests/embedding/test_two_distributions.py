"""`barnabas` and `pyspark-barnabas`: each is whole alone, they share no file, and either goes alone."""

import sys
import zipfile
from pathlib import Path

import pytest

from tests.embedding.conftest import Environment, run
from tests.support.source_tree import ROOT

BROKER, SPARK = "barnabas", "pyspark-barnabas"
BUILD = "from hatchling.build import build_wheel; import sys; print(build_wheel(sys.argv[1]))"
WORK = {
    BROKER: """
from barnabas.protocol.records.crc32c import crc32c
from barnabas.broker.config.definitions.keys import KEYS
assert crc32c(b"123456789") == 0xE3069283 and KEYS
""",
    SPARK: """
import sys
from pyspark_barnabas import exactly_once, options
from pyspark_barnabas.rows import digest
from pyspark_barnabas._barnabas.protocol import registry
sink = options.sink({"kafka.bootstrap.servers": "127.0.0.1:9092", "topic": "orders"})
assert sink.topic == "orders" and sink.connection.client() is not None
assert digest.row_hash("orders", digest.tail(b"k", b"v")) == digest.row_hash("orders", digest.tail(b"k", b"v"))
assert not [name for name in sys.modules if name.partition(".")[0] == "barnabas"]
""",
}


@pytest.fixture(scope="module")
def wheels(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Both wheels, built from the tree without a network."""
    directory = tmp_path_factory.mktemp("wheels")
    built = run(sys.executable, "-c", BUILD, directory, cwd=ROOT / "pyspark_barnabas").strip().splitlines()[-1]
    return {BROKER: wheel, SPARK: directory / built}


def install(environment: Environment, wheel: Path) -> None:
    environment.install("--no-deps", "--no-index", "--no-compile", wheel)


def works(environment: Environment, name: str) -> None:
    """Whether what the distribution does without any other package is done."""
    run(environment.python, "-I", "-c", WORK[name], cwd=environment.directory)


def files(environment: Environment) -> set[str]:
    return {str(path.relative_to(environment.packages)) for path in environment.packages.rglob("*.py")}


def files_of(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def version_of(wheel: Path) -> str:
    return wheel.name.split("-")[1]


def test_they_share_no_file_and_have_one_version(wheels: dict[str, Path]) -> None:
    assert not files_of(wheels[BROKER]) & files_of(wheels[SPARK])
    assert {name.partition("/")[0] for name in files_of(wheels[SPARK]) if ".dist-info/" not in name} == {
        "pyspark_barnabas"
    }
    assert version_of(wheels[BROKER]) == version_of(wheels[SPARK])


@pytest.mark.usefixtures("_whichever_form")
@pytest.mark.parametrize(("first", "second"), [(BROKER, SPARK), (SPARK, BROKER)])
def test_each_is_whole_alone_and_the_other_comes_and_goes(
    wheels: dict[str, Path], first: str, second: str, tmp_path: Path
) -> None:
    environment = Environment(tmp_path / "venv")
    install(environment, wheels[first])
    works(environment, first)
    alone = files(environment)
    install(environment, wheels[second])
    works(environment, first)
    works(environment, second)
    environment.uninstall(second)
    assert files(environment) == alone
    works(environment, first)

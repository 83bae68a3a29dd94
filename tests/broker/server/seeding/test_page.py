"""docs/seeds.md: its seed gives what the page says."""

import re
import struct
import subprocess
import sys
from pathlib import Path

from barnabas import Barnabas
from barnabas.broker.server.seeding.document import (
    Seed,
    SeedAcl,
    SeedGroup,
    SeedReference,
    SeedSchema,
    SeedTopic,
    SeedTransaction,
    SeedUser,
)
from tests.support.source_tree import ROOT
from tests.support.waiting import PATIENCE_S

PAGE = (ROOT / "docs" / "seeds.md").read_text()


def test_the_seed_of_the_page_is_applied(tmp_path: Path) -> None:
    seed = re.search(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert seed is not None
    path = tmp_path / "shop.yaml"
    path.write_text(seed[1])
    with Barnabas(seed=path) as broker:
        assert len(broker.records("orders")) == 3
        assert [record.value for record in broker.records("payments")] == [b"paid"]
        assert [each.transaction.transactional_id for each in broker.open_transactions()] == ["shop-2"]


def test_the_schemas_of_the_page_are_applied(tmp_path: Path) -> None:
    path = tmp_path / "shop.yaml"
    path.write_text(re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)[1])
    with Barnabas(seed=path, registry=True) as broker:
        [record] = broker.records("orders")
    assert record.value == b"\0\0\0\0\1" + b"\2" + struct.pack("<d", 9.5)


def test_the_test_of_the_page_passes(tmp_path: Path) -> None:
    for kind, name in (("yaml", "shop.yaml"), ("python", "test_shop.py")):
        block = re.search(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)
        assert block is not None
        (tmp_path / name).write_text(block[1])
    command = [sys.executable, "-m", "pytest", "--quiet", "--disable-warnings"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert (done.returncode, "1 passed" in done.stdout) == (0, True), done.stdout


def test_the_page_has_every_field() -> None:
    structs = (Seed, SeedTopic, SeedTransaction, SeedGroup, SeedUser, SeedAcl, SeedSchema, SeedReference)
    fields = {name for each in structs for name in each.__struct_fields__} - {"version"}
    assert {name for name in fields if f"`{name}" not in PAGE} == set()

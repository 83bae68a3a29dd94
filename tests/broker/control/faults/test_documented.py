"""docs/faults.md says what there is, and its examples can be armed."""

import json
import re
from dataclasses import replace

import pytest

from barnabas.broker.control.faults.model import (
    ALWAYS,
    FAULTS_MAX,
    PLAN_BYTES_MAX,
    DiskFileKind,
    DiskOperation,
    FaultPlan,
)
from barnabas.broker.control.faults.on_requests.refusing import IN_PARTS
from barnabas.broker.control.faults.plan.of_points import points
from barnabas.broker.control.faults.plan.of_requests import ACTIONS, MATCHES
from barnabas.broker.control.faults.plan.reading import read_plan
from barnabas.protocol.registry import ApiKey
from tests.broker.control.faults.test_plan import KNOWN
from tests.support.source_tree import ROOT

PAGE = (ROOT / "docs" / "faults.md").read_text()
NEEDS_AN_API = ("version", "error")


def rows(heading: str) -> list[str]:
    """The first cells of the table below `| heading |`."""
    table = PAGE.split(f"| `{heading}` | |\n|---|---|\n")[1].split("\n\n")[0]
    return [line.split(" | ")[0].removeprefix("| ") for line in table.splitlines()]


def examples(heading: str) -> list[tuple[str, str]]:
    """(key, JSON) of each example in the first cells."""
    found = [code for row in rows(heading) for code in re.findall(r"`([^`]+)`", row)]
    return [(next(iter(json.loads(f"{{{code}}}"))), code) for code in found]


def test_the_tables_have_all_that_there_is() -> None:
    assert list(dict.fromkeys(key for key, _ in examples("match"))) == list(MATCHES)
    assert sorted({key for key, _ in examples("do")}) == sorted(ACTIONS)
    assert f"up to {FAULTS_MAX} faults and {PLAN_BYTES_MAX >> 10} KiB" in PAGE
    assert f'`"{ALWAYS}"`' in PAGE


@pytest.mark.parametrize(("key", "code"), examples("match"))
def test_every_matcher_can_be_armed(key: str, code: str) -> None:
    api = '"api": "EndTxn", ' if key in NEEDS_AN_API else ""
    assert armed(f'{{"match": {{{api}{code}}}, "do": {{"drop": true}}}}')


@pytest.mark.parametrize(("key", "code"), examples("do"))
def test_every_action_can_be_armed(key: str, code: str) -> None:
    api = '"api": "EndTxn"' if key in NEEDS_AN_API else ""
    assert armed(f'{{"match": {{{api}}}, "do": {{{code}}}}}')


def test_every_file_of_the_disk_is_reported_and_can_be_armed() -> None:
    table = PAGE.split('| `"file"` | what it is | ')[1].split("\n\n")[0].splitlines()[2:]
    told = [name for row in table for name in re.findall(r'`"(\w+)"`', row.split(" | ")[0])]
    assert told == [each.value for each in DiskFileKind]
    for file in told:
        assert armed(f'{{"match": {{"disk": "append", "file": "{file}"}}, "do": {{"error": "EIO"}}}}')


def test_every_disk_operation_can_be_armed() -> None:
    table = PAGE.split("| `match`, `do` | what the broker does |\n|---|---|\n")[1].split("\n\n")[0]
    examples = re.findall(r"^\| `(\w+)`, `([^`]+)` ", table, re.MULTILINE)
    assert {operation for operation, _ in examples} == {each.value for each in DiskOperation}
    for operation, do in examples:
        assert armed(f'{{"match": {{"disk": "{operation}"}}, "do": {{{do}}}}}')


def test_the_plan_and_the_fault_at_a_step_can_be_armed() -> None:
    plan, at_a_step = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    assert len(armed(plan).faults) == 2
    assert len(read_plan(at_a_step, replace(KNOWN, points=points())).faults) == 1


def test_the_apis_whose_partitions_fail_alone_are_reported() -> None:
    sentence = " ".join(PAGE.split()).split("the others are applied, in ")[1].split(". AddPartitionsToTxn")[0]
    assert set(re.split(", | and ", sentence)) == {api.api_name for api in IN_PARTS | {ApiKey.FETCH, ApiKey.METADATA}}


def armed(text: str) -> FaultPlan:
    return read_plan(text, KNOWN)


def test_the_faults_for_other_languages_can_be_armed() -> None:
    page = (ROOT / "docs" / "testing.md").read_text().split("### Faults")[1]
    java, go, node = (
        re.search(f"```{language}\n.*?[^/]*?fault (?:=|:=) (.*)\n", page) for language in ("java", "go", "js")
    )
    assert java is not None
    assert go is not None
    assert node is not None
    assert armed(json.loads(java[1].removesuffix(";")))
    assert armed(go[1].strip("`"))
    assert armed(re.sub(r"(\w+): ", r'"\1": ', node[1].removesuffix(";")))

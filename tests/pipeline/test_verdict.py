"""From findings to a verdict."""

import json

from pipeline.verdict import Check, PipelineFinding, Verdict, as_json, as_text, check, dump, overall

LOST = PipelineFinding("lost", "orders", 3, 17, "no output names it as its source")
RIGHT = check("sums", [], {"windows": 4})
WRONG = check("coverage", [LOST], {"orders": 100})
UNKNOWN = Check("segments", unknown="no such directory")


def test_one_wrong_check_makes_all_wrong() -> None:
    assert overall([RIGHT, WRONG, UNKNOWN]) is Verdict.WRONG


def test_unchecked_parts_are_not_reported_as_right() -> None:
    assert overall([RIGHT, UNKNOWN]) is Verdict.UNKNOWN
    assert overall([]) is Verdict.UNKNOWN


def test_nothing_found_is_right() -> None:
    assert overall([RIGHT, RIGHT]) is Verdict.RIGHT


def test_exit_statuses_are_what_the_documentation_says() -> None:
    assert (Verdict.RIGHT.value, Verdict.WRONG.value, Verdict.UNKNOWN.value) == (0, 1, 2)


def test_the_report_names_what_is_wrong() -> None:
    report = json.loads(dump(as_json([RIGHT, WRONG, UNKNOWN], {"seed": 5})))
    assert report["verdict"] == "wrong"
    assert report["seed"] == 5
    assert report["checks"][1]["findings"] == [
        {"kind": "lost", "topic": "orders", "partition": 3, "offset": 17, "detail": LOST.detail}
    ]
    text = as_text(report)
    assert "orders-3 offset 17: no output names it as its source" in text
    assert "no such directory" in text
    assert text.endswith("verdict: wrong")


def test_only_the_first_findings_are_listed_and_all_are_counted() -> None:
    found = check("coverage", [LOST] * 50, {})
    assert found.found == {"lost": 50}
    assert len(found.findings) == 20

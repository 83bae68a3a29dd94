"""The demo's page: one file, with everything in it that was noted, and whatever is missing left out."""

import json
from pathlib import Path

from pipeline.demo.report import acknowledged_are_there, page
from pipeline.verdict import PipelineFinding, as_json, check, dump

LOST = PipelineFinding("lost", "orders.raw", 3, 17, "<gone>")


def leave(directory: Path, findings: list[PipelineFinding]) -> None:
    """What a demo leaves in its directory."""
    seen = {"validate": {"end": 10, "read": 4}, "aggregate": {"end": 4, "read": 4}}
    notes = [
        {"event": "began", "at_s": 0.0, "began_ms": 1000},
        {"event": "seen", "at_s": 1.0, "stages": seen, "transactions": {"Ongoing": 2}, "acks": {"committed": 3}},
        {"event": "kill", "at_s": 1.5, "victim": "broker", "processes": 1},
        {"event": "seen", "at_s": 2.0, "stages": seen, "transactions": {}, "acks": {"committed": 5, "aborted": 1}},
    ]
    (directory / "notes.jsonl").write_text("".join(json.dumps(note) + "\n" for note in notes))
    batch = {"event": "batch", "at_ms": 2500, "query": "validate", "rows": 10, "took_ms": 40, "add_batch_ms": 20}
    (directory / "metrics.jsonl").write_text(json.dumps(batch) + '\n{"event": "batch", "at_')  # killed while writing
    checks = [check("coverage", findings, {"orders.raw": 12}), check("sums", [], {"written": 2})]
    (directory / "verdict.json").write_text(dump(as_json(checks, {})))


def test_the_page_has_its_pictures_and_names_what_is_wrong(tmp_path: Path) -> None:
    leave(tmp_path, [LOST])
    text = page(tmp_path, 5, {"committed": 12, "aborted": 3})
    assert text.count("<svg") == 4
    assert "Seed 5." in text
    assert "after one kill: <span class=wrong>wrong</span>" in text
    assert "&lt;gone&gt;" in text
    assert "http-equiv" not in text
    assert 'src="' not in text


def test_a_demo_that_came_to_nothing_has_a_page_too(tmp_path: Path) -> None:
    text = page(tmp_path, 5, {})
    assert text.count("<svg") == 4
    assert "unknown" in text


def test_acknowledged_orders_have_to_match_the_audit(tmp_path: Path) -> None:
    leave(tmp_path, [])
    assert acknowledged_are_there(tmp_path, {"committed": 12})
    assert acknowledged_are_there(tmp_path, {"committed": 10, "in doubt": 2})
    assert not acknowledged_are_there(tmp_path, {"committed": 13})
    assert not acknowledged_are_there(tmp_path, {"committed": 9, "in doubt": 2})

"""How numbers, times and bytes are written."""

import pytest

from barnabas.broker.http.console import formatting


@pytest.mark.parametrize(
    ("ms", "said"),
    [
        (0, "0 ms"),
        (999, "999 ms"),
        (1_500, "1.5 s"),
        (59_999, "59 s"),
        (200_000, "3 min 20 s"),
        (60_000, "1 min"),
        (7_500_000, "2 h 5 min"),
        (90_000_000_000, "1041 d 16 h"),
        (-1_500, "−1.5 s"),
    ],
)
def test_a_duration_has_two_units_at_most(ms: int, said: str) -> None:
    assert formatting.duration(ms) == said


def test_a_moment_is_in_utc_and_one_that_no_calendar_has_is_a_number() -> None:
    assert formatting.moment(1_700_000_000_123) == "2023-11-14 22:13:20.123"
    assert formatting.moment(-1) == "–"
    assert formatting.moment((1 << 63) - 1) == "9223372036854775807 ms"


def test_bytes_are_text_where_they_are_text() -> None:
    assert formatting.preview(None) == "null"
    assert formatting.preview("Grüße\n\tan K.".encode()) == "Grüße␣␣an K."
    assert formatting.preview(b"\xff\x00") == "0xff00"
    assert formatting.preview(b"x" * 1000) == "x" * 120 + "…"
    assert formatting.preview("ü".encode() * 1000, 10) == "ü" * 10 + "…"
    assert formatting.preview(b"\xff" * 1000, 10) == "0x" + "ff" * 4 + "…"
    assert formatting.as_json(b'{"a": [1]}', 100) == '{\n  "a": [\n    1\n  ]\n}'
    assert formatting.as_json(b"{", 100) is None
    assert formatting.as_json(b"[" * 90_000, 100_000) is None
    assert formatting.as_hex(b"Kafka\x00", 100) == f"00000000  {'4b 61 66 6b 61 00':<47}  Kafka·"
    assert formatting.as_hex(b"ab", 1).endswith("a\n…")
    assert formatting.as_text(b"\xffabc", 2) == "\ufffda…"
    assert formatting.as_text(b"\0a\tb\x7f", 9) == "·a\tb·"


def test_sizes_and_counts_have_their_units() -> None:
    assert (formatting.size(999), formatting.size(1_500), formatting.size(3_200_000_000_000)) == (
        "999 B",
        "1.5 kB",
        "3.2 TB",
    )
    assert (formatting.counted(1, "row"), formatting.counted(12_345, "row")) == ("1 row", "12\u202f345 rows")

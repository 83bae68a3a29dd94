"""The codecs on their own: framings other clients write, bombs, and lies about length."""

import contextlib
import gzip
import random
from contextlib import nullcontext

import lz4.frame  # type: ignore[import-untyped]  # because lz4 ships no types
import pytest
import zstandard
from cramjam import snappy
from hypothesis import given
from hypothesis import strategies as st

import barnabas.protocol.records.compression as codecs
from barnabas.protocol.errors import DecodeError
from barnabas.protocol.records.compression import (
    COMPRESSION_IDS,
    GZIP,
    LZ4,
    SNAPPY,
    ZSTD,
    compress,
    decompress,
    decompress_chunks,
)

CODECS = sorted(COMPRESSION_IDS.values())
TEXT = b"the quick brown fox jumps over the lazy dog. " * 4000


@given(st.sampled_from(CODECS), st.binary(max_size=2000) | st.binary(max_size=9).map(lambda unit: unit * 30_000))
def test_every_codec_gives_back_what_it_took(compression: int, data: bytes) -> None:
    assert decompress(compression, compress(compression, memoryview(data))) == data


@given(st.sampled_from([*CODECS, 5, 6, 7]), st.binary(max_size=300))
def test_garbage_gives_bytes_or_a_decode_error(compression: int, data: bytes) -> None:
    with contextlib.suppress(DecodeError):  # the only error that is allowed
        decompress(compression, memoryview(data), 1 << 20)


@given(st.sampled_from(CODECS[1:]), st.data())
def test_damaged_data_gives_bytes_or_a_decode_error(compression: int, data: st.DataObject) -> None:
    damaged = bytearray(compress(compression, TEXT[: data.draw(st.integers(0, 5000))]))
    damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(DecodeError):  # the only error that is allowed
        decompress(compression, damaged, 1 << 24)


@pytest.mark.parametrize("compression", [GZIP, SNAPPY, LZ4])
def test_cut_data_is_refused(compression: int) -> None:
    data = compress(compression, TEXT)
    for cut in range(20, len(data), 97):
        if compression == SNAPPY and decompress_snappy_at_a_block_border(data, cut):
            continue
        with pytest.raises(DecodeError):
            decompress(compression, data[:cut])


def decompress_snappy_at_a_block_border(data: bytes, cut: int) -> bool:
    position = 16
    while position < cut:
        position += 4 + int.from_bytes(data[position : position + 4], "big")
    return position == cut


def test_snappy_is_written_in_the_java_framing() -> None:
    data = compress(SNAPPY, TEXT)
    assert data[:16] == bytes.fromhex("82534e41505059000000000100000001")
    size = int.from_bytes(data[16:20], "big")
    assert bytes(snappy.decompress_raw(data[20 : 20 + size])) == TEXT[: 32 * 1024]


def test_snappy_of_one_raw_block_is_read() -> None:
    assert decompress(SNAPPY, bytes(snappy.compress_raw(TEXT))) == TEXT


def test_a_snappy_block_that_claims_gigabytes_is_refused_before_anything_is_allocated() -> None:
    claim = b"\xff\xff\xff\xff\x0f" + bytes(50)
    with pytest.raises(DecodeError, match="claims 4294967295"):
        decompress(SNAPPY, claim)
    framed = compress(SNAPPY, b"")
    with pytest.raises(DecodeError, match="claims 4294967295"):
        decompress(SNAPPY, framed + len(claim).to_bytes(4, "big") + claim)
    with pytest.raises(DecodeError, match="are left"):
        decompress(SNAPPY, framed + b"\x7f\xff\xff\xff" + claim)
    with pytest.raises(DecodeError, match="xerial header"):
        decompress(SNAPPY, framed[:12])


def test_the_densest_snappy_block_is_believed() -> None:
    assert decompress(SNAPPY, bytes(snappy.compress_raw(bytes(1 << 20)))) == bytes(1 << 20)


def test_lz4_is_written_with_independent_blocks_and_without_a_size() -> None:
    flags = compress(LZ4, TEXT)[4]
    assert flags >> 6 == 1, "version"
    assert flags & 0x20, "block independence"
    assert not flags & 0x08, "content size"


def test_lz4_of_linked_blocks_with_size_and_checksums_is_read() -> None:
    framed = lz4.frame.compress(TEXT, block_linked=True, store_size=True, content_checksum=True, block_checksum=True)
    assert decompress(LZ4, framed) == TEXT


@pytest.mark.parametrize("level", [None, 1, 2, 3, 9, 12, 17])
@pytest.mark.parametrize("data", [b"", b"x" * 13, TEXT, random.Random(1).randbytes(70_000)], ids=len)
def test_lz4_is_written_as_by_lz4s_own_library(data: bytes, level: int | None) -> None:
    own = lz4.frame.compress(
        data, compression_level=level or 0, block_size=lz4.frame.BLOCKSIZE_MAX64KB, block_linked=False, store_size=False
    )
    assert compress(LZ4, data, level) == own


@pytest.mark.parametrize("is_linked", [False, True], ids=["independent", "linked"])
def test_every_damage_is_found_in_lz4_with_checksums_but_in_that_of_the_content(is_linked: bool) -> None:
    """Which Kafka passes over."""
    framed = lz4.frame.compress(
        TEXT[:500], block_linked=is_linked, store_size=True, content_checksum=True, block_checksum=True
    )
    for position in range(len(framed)):
        damaged = bytearray(framed)
        damaged[position] ^= 0x41
        with nullcontext() if position >= len(framed) - 4 else pytest.raises(DecodeError):
            assert decompress(LZ4, damaged) == TEXT[:500]


def test_lz4_frames_to_skip_are_skipped() -> None:
    skipped = bytes.fromhex("572a4d18 03000000") + b"any"
    assert decompress(LZ4, skipped + compress(LZ4, TEXT) + skipped) == TEXT


@given(st.binary(max_size=600), st.lists(st.integers(1, 300), max_size=8))
def test_lz4_of_short_linked_blocks_is_read(unit: bytes, sizes: list[int]) -> None:
    frame = lz4.frame.LZ4FrameCompressor(block_linked=True, auto_flush=True)
    pieces = [(unit * 2)[:size] for size in sizes]
    framed = frame.begin() + b"".join(map(frame.compress, pieces)) + frame.flush()
    assert decompress(LZ4, framed) == b"".join(pieces)


def test_zstd_cut_short_gives_what_it_holds() -> None:
    whole = random.Random(2).randbytes(300_000)
    data = compress(ZSTD, whole)
    for cut in (0, 3, 9, 140_000, len(data) - 1):
        assert whole.startswith(decompress(ZSTD, data[:cut]))
    with pytest.raises(DecodeError, match="zstd data is damaged"):
        decompress(ZSTD, data + b"behind it")


@pytest.mark.parametrize("compression", [GZIP, SNAPPY, LZ4])
def test_trailing_bytes_are_ignored_as_by_kafka(compression: int) -> None:
    """A second frame of LZ4, too; and the beginning of a gzip member that is none."""
    behind = {GZIP: [b"\x1f\x8b\x08", b"\x1f\x8b\x08" + b"\xff" * 9], LZ4: [lz4.frame.compress(b"more")]}
    for more in (b"\0", b"any", *behind.get(compression, [])):
        assert decompress(compression, compress(compression, TEXT) + more) == TEXT


def test_several_members_or_frames_are_one_stream() -> None:
    assert decompress(GZIP, gzip.compress(TEXT) + gzip.compress(b"more")) == TEXT + b"more"
    assert decompress(ZSTD, zstandard.compress(TEXT) + zstandard.compress(b"more")) == TEXT + b"more"


@pytest.mark.parametrize("compression", CODECS)
def test_nothing_beyond_the_limit_is_given_out(compression: int) -> None:
    bomb = compress(compression, bytes(1 << 20))
    assert len(decompress(compression, bomb, 1 << 20)) == 1 << 20
    taken: list[bytes] = []
    with pytest.raises(DecodeError, match="grows beyond"):
        taken.extend(decompress_chunks(compression, bomb, (1 << 20) - 1))
    assert sum(map(len, taken)) < 1 << 20


@pytest.mark.parametrize(("compression", "levels"), [(GZIP, (1, 9)), (LZ4, (1, 12)), (ZSTD, (1, 19))])
def test_levels_change_the_size_and_nothing_else(compression: int, levels: tuple[int, int]) -> None:
    fast, small = (compress(compression, TEXT, level) for level in levels)
    assert len(small) != len(fast)
    assert decompress(compression, fast) == decompress(compression, small) == TEXT


def test_the_same_data_always_gives_the_same_bytes() -> None:
    assert compress(GZIP, TEXT)[4:8] == bytes(4), "no time in the gzip header"


def test_an_unknown_codec_cannot_be_written() -> None:
    with pytest.raises(ValueError, match="number 5"):
        compress(5, b"")


def test_only_none_and_gzip_are_offered_without_wheels(monkeypatch: pytest.MonkeyPatch) -> None:
    assert all(map(codecs.is_available, codecs.COMPRESSION_NAMES))
    monkeypatch.setattr(codecs, "find_spec", lambda name: None)
    offered = [each for each in codecs.COMPRESSION_NAMES if codecs.is_available(each)]
    assert offered == [codecs.NONE, codecs.GZIP]

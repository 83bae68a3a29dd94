"""XXH3, 64 bits, without a seed: the hash that Kafka's metadata hash of a group is made with (KIP-1101).

As the reference implementation of xxHash 0.8 defines it (BSD licence; the constants are part of the format). Inputs are
short here, some bytes for each partition of a topic, and hashed when topics change.
"""

from __future__ import annotations

import struct

_MASK32, _MASK = 2**32 - 1, 2**64 - 1
_P32 = (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D)
_P64 = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)
_MX1, _MX2 = 0x165667919E3779F9, 0x9FB21C651E98DF25
_SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221"
    "b8084674f743248ee03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb"
    "170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
)
_STRIPE = 64
_STRIPES_PER_BLOCK = (len(_SECRET) - _STRIPE) // 8
_MID_MAX = 240


def xxh3_64(data: bytes) -> int:
    """The hash, unsigned."""
    size = len(data)
    if size <= 16:
        return _short(data, size)
    if size <= 128:
        return _up_to_128(data, size)
    if size <= _MID_MAX:
        return _up_to_240(data, size)
    return _long(data, size)


def _u32(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 4], "little")


def _u64(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 8], "little")


def _xxh64_avalanche(value: int) -> int:
    value = (value ^ value >> 33) * _P64[1] & _MASK
    value = (value ^ value >> 29) * _P64[2] & _MASK
    return value ^ value >> 32


def _avalanche(value: int) -> int:
    value = (value ^ value >> 37) * _MX1 & _MASK
    return value ^ value >> 32


def _folded(left: int, right: int) -> int:
    product = left * right
    return (product ^ product >> 64) & _MASK


def _rotated(value: int, bits: int) -> int:
    return (value << bits | value >> 64 - bits) & _MASK


def _short(data: bytes, size: int) -> int:
    if size > 8:
        low = _u64(data, 0) ^ _u64(_SECRET, 24) ^ _u64(_SECRET, 32)
        high = _u64(data, size - 8) ^ _u64(_SECRET, 40) ^ _u64(_SECRET, 48)
        swapped = int.from_bytes(low.to_bytes(8, "little"), "big")
        return _avalanche((size + swapped + high + _folded(low, high)) & _MASK)
    if size >= 4:
        value = (_u32(data, size - 4) + (_u32(data, 0) << 32)) ^ _u64(_SECRET, 8) ^ _u64(_SECRET, 16)
        value = (value ^ _rotated(value, 49) ^ _rotated(value, 24)) * _MX2 & _MASK
        value = (value ^ (value >> 35) + size & _MASK) * _MX2 & _MASK
        return value ^ value >> 28
    if size:
        few = data[0] << 16 | data[size >> 1] << 24 | data[size - 1] | size << 8
        return _xxh64_avalanche(few ^ _u32(_SECRET, 0) ^ _u32(_SECRET, 4))
    return _xxh64_avalanche(_u64(_SECRET, 56) ^ _u64(_SECRET, 64))


def _mixed_16(data: bytes, at: int, secret_at: int) -> int:
    return _folded(_u64(data, at) ^ _u64(_SECRET, secret_at), _u64(data, at + 8) ^ _u64(_SECRET, secret_at + 8))


def _up_to_128(data: bytes, size: int) -> int:
    total = size * _P64[0]
    for step in reversed(range((size - 1) // 32 + 1)):
        total += _mixed_16(data, step * 16, step * 32)
        total += _mixed_16(data, size - 16 * (step + 1), step * 32 + 16)
    return _avalanche(total & _MASK)


def _up_to_240(data: bytes, size: int) -> int:
    total = size * _P64[0]
    for step in range(8):
        total += _mixed_16(data, step * 16, step * 16)
    total = _avalanche(total & _MASK)
    for step in range(8, size // 16):
        total += _mixed_16(data, step * 16, (step - 8) * 16 + 3)
    total += _mixed_16(data, size - 16, 136 - 17)
    return _avalanche(total & _MASK)


def _accumulate(lanes: list[int], stripe: tuple[int, ...], secret_at: int) -> None:
    for lane, value in enumerate(stripe):
        keyed = value ^ _u64(_SECRET, secret_at + lane * 8)
        lanes[lane ^ 1] = lanes[lane ^ 1] + value & _MASK
        lanes[lane] = lanes[lane] + (keyed & _MASK32) * (keyed >> 32) & _MASK


def _long(data: bytes, size: int) -> int:
    lanes = [_P32[2], _P64[0], _P64[1], _P64[2], _P64[3], _P32[1], _P64[4], _P32[0]]
    stripe = struct.Struct("<8Q")
    for number in range((size - 1) // _STRIPE):
        within = number % _STRIPES_PER_BLOCK
        _accumulate(lanes, stripe.unpack_from(data, number * _STRIPE), within * 8)
        if within == _STRIPES_PER_BLOCK - 1:
            for lane, value in enumerate(lanes):
                key = _u64(_SECRET, len(_SECRET) - _STRIPE + lane * 8)
                lanes[lane] = (value ^ value >> 47 ^ key) * _P32[0] & _MASK
    _accumulate(lanes, stripe.unpack_from(data, size - _STRIPE), len(_SECRET) - _STRIPE - 7)
    total = size * _P64[0]
    for pair in range(0, 8, 2):
        at = 11 + pair * 8
        total += _folded(lanes[pair] ^ _u64(_SECRET, at), lanes[pair + 1] ^ _u64(_SECRET, at + 8))
    return _avalanche(total & _MASK)

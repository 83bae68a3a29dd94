"""The table of error codes, and the exception that carries one."""

import pytest

from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.primitives import MAX_STRING_BYTES


def test_codes_are_consecutive_from_minus_one_to_136() -> None:
    assert [int(code) for code in ErrorCode] == list(range(-1, 137))


def test_a_code_is_looked_up_by_number_and_is_one() -> None:
    assert ErrorCode(3) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    number: int = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert number == 3


@pytest.mark.parametrize(
    ("code", "retriable", "refresh"),
    [
        (ErrorCode.NONE, False, False),
        (ErrorCode.REQUEST_TIMED_OUT, True, False),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, True, True),
        (ErrorCode.NOT_COORDINATOR, True, True),
        (ErrorCode.PRODUCER_FENCED, False, False),
    ],
)
def test_codes_know_what_a_client_does(code: ErrorCode, retriable: bool, refresh: bool) -> None:
    assert (code.retriable, code.refresh_metadata) == (retriable, refresh)


def test_every_code_has_a_sentence() -> None:
    assert all(code.message.endswith(".") for code in ErrorCode)
    assert len({code.message for code in ErrorCode}) == len(ErrorCode)


def test_a_kafka_error_states_what_and_where() -> None:
    error = KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "there is no partition 3 of orders")
    assert str(error) == "UNKNOWN_TOPIC_OR_PARTITION: there is no partition 3 of orders"
    assert error.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_kafka_error_without_a_message_has_the_codes() -> None:
    assert KafkaError(ErrorCode.INVALID_CONFIG).message == ErrorCode.INVALID_CONFIG.message


def test_a_message_that_names_something_endless_still_fits_the_wire() -> None:
    endless = KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"{chr(0x1F981) * 40_000} is no topic").message
    assert len(endless.encode()) <= MAX_STRING_BYTES
    assert endless.endswith("…")


def test_an_error_kept_as_a_value_knows_no_frames() -> None:
    try:
        try:
            raise OSError("the disk is full")
        except OSError as cause:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR) from cause
    except KafkaError as error:
        kept = error.as_value()
    assert kept.__cause__ is not None
    assert (kept.__traceback__, kept.__cause__.__traceback__) == (None, None)

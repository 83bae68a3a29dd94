"""What a source reads, as its options say it."""

import pytest

from barnabas.client.offsets import EARLIEST, LATEST, READ_COMMITTED, READ_UNCOMMITTED
from pyspark_barnabas.options import OptionError
from pyspark_barnabas.source.options import SourceSettings, batch_settings, stream_settings
from pyspark_barnabas.source.subscription import Assigned, ByTime, Given, Named, TopicPattern

BROKER = {"kafka.bootstrap.servers": "127.0.0.1:9092"}


def batch(**options: str) -> SourceSettings:
    return batch_settings(BROKER | {"subscribe": "t"} | _names(options))


def stream(**options: str) -> SourceSettings:
    return stream_settings(BROKER | {"subscribe": "t"} | _names(options))


def _names(options: dict[str, str]) -> dict[str, str]:
    """As Spark hands them over; kafka__group__id is kafka.group.id."""
    return {name.replace("__", ".").lower(): value for name, value in options.items()}


def test_a_batch_reads_all_that_is_committed() -> None:
    found = batch()
    assert found.subscription == Named(("t",))
    assert (found.starting, found.ending) == (Given(None, EARLIEST), Given(None, LATEST))
    assert (found.isolation, found.fail_on_data_loss, found.with_headers) == (READ_COMMITTED, True, False)


def test_a_stream_reads_what_comes_from_now_on() -> None:
    assert stream().starting == Given(None, LATEST)
    assert stream(startingOffsets="Earliest").starting == Given(None, EARLIEST)


@pytest.mark.parametrize(
    ("options", "subscription"),
    [
        ({"subscribe": " a, b ,a"}, Named(("a", "b"))),
        ({"subscribepattern": "orders.*"}, TopicPattern("orders.*")),
        ({"assign": '{"b":[1,0,1],"a":[2]}'}, Assigned((("a", 2), ("b", 0), ("b", 1)))),
    ],
)
def test_there_are_three_ways_to_say_what_is_read(options: dict[str, str], subscription: object) -> None:
    assert batch_settings(BROKER | options).subscription == subscription


def test_bounds_are_offsets_or_moments() -> None:
    offsets = '{"t":{"0":5,"1":-2,"2":-1}}'
    by_partition = {("t", 0): 5, ("t", 1): EARLIEST, ("t", 2): LATEST}
    assert stream(startingOffsets=offsets).starting == Given(by_partition, LATEST)
    assert batch(endingOffsets='{"t":{"0":5,"1":-1}}').ending == Given({("t", 0): 5, ("t", 1): LATEST}, LATEST)
    assert stream(startingTimestamp="17").starting == ByTime(None, 17, None)
    strategy = "startingOffsetsByTimestampStrategy"
    moments = '{"t":{"0":17}}'
    assert stream(startingOffsetsByTimestamp=moments, **{strategy: "latest"}).starting == ByTime(
        {("t", 0): 17}, 0, LATEST
    )
    assert batch(endingOffsetsByTimestamp=moments).ending == ByTime({("t", 0): 17}, 0, LATEST)


def test_a_moment_for_all_goes_before_moments_for_each_and_these_before_offsets() -> None:
    offsets, moments = '{"t":{"0":1}}', '{"t":{"0":2}}'
    all_three = {"startingOffsets": offsets, "startingOffsetsByTimestamp": moments, "startingTimestamp": "3"}
    assert stream(**all_three).starting == ByTime(None, 3, None)
    del all_three["startingTimestamp"]
    assert stream(**all_three).starting == ByTime({("t", 0): 2}, 0, None)


def test_limits_are_none_unless_they_are_set() -> None:
    found = stream()
    assert (found.max_offsets, found.min_offsets, found.min_partitions, found.max_records_per_partition) == (0,) * 4
    found = stream(maxOffsetsPerTrigger="10", minOffsetsPerTrigger="5", minPartitions="7", maxTriggerDelay="2m")
    assert (found.max_offsets, found.min_offsets, found.min_partitions) == (10, 5, 7)
    assert found.max_trigger_delay_ms == 120_000


def test_offsets_are_committed_to_the_group_only_if_asked_to() -> None:
    assert stream(kafka__group__id="g").commit_group == ""
    assert stream(kafka__group__id="g", commitOffsets="true").commit_group == "g"


def test_both_isolation_levels_can_be_had() -> None:
    assert batch(kafka__isolation__level="READ_UNCOMMITTED").isolation == READ_UNCOMMITTED


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"subscribe": ""}, "nothing is set"),
        ({"assign": '{"t":[0]}'}, "assign and subscribe are set"),
        ({"subscribe": " , "}, "separated by commas"),
        ({"subscribe": "", "subscribePattern": "("}, "not a regular expression"),
        ({"subscribe": "", "assign": "[]"}, "as in"),
        ({"subscribe": "", "assign": '{"t":["0"]}'}, "list of numbers"),
        ({"startingOffsets": "soonest"}, "startingOffsets is 'soonest', and should be earliest, latest or JSON"),
        ({"startingOffsets": '{"t":{"0":5}'}, "not JSON"),
        ({"startingOffsets": '{"t":5}'}, "should be a JSON object"),
        ({"startingOffsets": '{"t":{"x":5}}'}, "not the number of a partition"),
        ({"startingOffsets": '{"t":{"0":-3}}'}, "t-0 has -3"),
        ({"startingOffsets": '{"t":{"0":true}}'}, "t-0 has True"),
        ({"startingOffsetsByTimestamp": '{"t":{"0":-1}}'}, "a time in milliseconds"),
        ({"startingTimestamp": "yesterday"}, "whole number"),
        ({"startingOffsetsByTimestampStrategy": "first"}, "one of error, latest"),
        ({"kafka__isolation__level": "serializable"}, "one of read_committed"),
        ({"minPartitions": "0"}, "from 1"),
        ({"minOffsetsPerTrigger": "9", "maxOffsetsPerTrigger": "8"}, "no batch could satisfy both"),
        ({"maxTriggerDelay": "soon"}, "as in 15m"),
        ({"commitOffsets": "true"}, "kafka.group.id is not"),
        ({"subscribeTo": "t"}, "did you mean subscribe or subscribePattern?"),
    ],
)
def test_meaningless_options_are_refused_with_a_sentence(options: dict[str, str], sentence: str) -> None:
    with pytest.raises(OptionError, match=sentence):
        stream(**options)


@pytest.mark.parametrize(
    "options",
    [
        {"startingOffsets": "latest"},
        {"endingOffsets": "earliest"},
        {"startingOffsets": '{"t":{"0":-1}}'},
        {"endingOffsets": '{"t":{"0":-2}}'},
    ],
)
def test_a_batch_that_could_only_be_empty_is_refused(options: dict[str, str]) -> None:
    with pytest.raises(OptionError, match="would find no record"):
        batch(**options)


def test_options_of_the_other_kind_are_refused_or_ignored_as_by_spark(
    caplog: pytest.LogCaptureFixture,
) -> None:
    for option in ("endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp"):
        with pytest.raises(OptionError, match="a stream has no end"):
            stream(**{option: "5"})
    batch(maxOffsetsPerTrigger="5")
    assert "maxOffsetsPerTrigger is for streams" in caplog.text

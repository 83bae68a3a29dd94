"""Random records: null and empty keys and values, large and repetitive values, headers, the timestamps there are."""

from hypothesis import strategies as st

from barnabas.protocol.records.builder import NewRecord

contents = st.none() | st.binary(max_size=40)
new_records = st.builds(
    NewRecord,
    key=contents,
    value=contents | st.binary(min_size=1, max_size=3).map(lambda unit: unit * 70_000),
    headers=st.lists(st.tuples(st.text(max_size=5), contents), max_size=3),
    timestamp=st.integers(-1, 2**62),
)
batches_of_records = st.lists(new_records, min_size=1, max_size=6)

"""The table of docs/ecosystem.md: what was run against the broker, and what tests/ecosystem proves of each row."""

from __future__ import annotations

from tests.support.ecosystem.row import AT_LEAST_ONCE, EXACTLY_ONCE, Row

PYTHON = (
    Row(
        name="aiokafka, transactions",
        pins=("aiokafka==0.14.0",),
        program="python/aiokafka_transactions.py",
        guarantee=EXACTLY_ONCE,
        settings="after an aborted transaction `seek_to_committed()`, else its records are skipped",
        is_quick=True,
    ),
    Row(
        name="Sentry's arroyo",
        pins=("sentry-arroyo==2.48.0",),
        program="python/arroyo_processor.py",
        guarantee=AT_LEAST_ONCE,
        is_quick=True,
    ),
    Row(
        name="FastStream",
        pins=("faststream[kafka]==0.7.8",),
        program="python/faststream_app.py",
        guarantee=AT_LEAST_ONCE,
        settings="`ack_policy=AckPolicy.NACK_ON_ERROR`",
    ),
    Row(
        name="bytewax",
        pins=("bytewax[kafka]==0.21.1",),
        program="python/bytewax_flow.py",
        guarantee=AT_LEAST_ONCE,
        settings="a recovery store: it has the offsets, and no group commits any",
    ),
)
ROWS = PYTHON

"""docs/ecosystem.md, from the rows that tests/ecosystem runs."""

from __future__ import annotations

from tests.support.ecosystem.row import Row
from tests.support.ecosystem.rows import ROWS

_HEAD = """\
# What runs on it

Each row is a framework or a tool that speaks Kafka's protocol, in the version that was run. Stock clients have
[a list of their own](../README.md#what-it-supports), Connect, Streams and Apicurio Registry [their page](stack.md).

What is proven is the same in each row. A short program uses the framework to copy a topic of three partitions into
another. As soon as some of the first 1,000 records are in the target, the broker is killed with `kill -9`; it starts
again on the same port, and 1,000 more are written. At the end all 2,000 records are in the target:

* **exactly once**: a `read_committed` consumer gets each once, and the log has the markers of transactions;
* **at least once**: each is there, some perhaps twice after the kill.

The source also has a record of an aborted transaction, which must not be in the target, unless the program cannot
leave it out. Debezium's source is a table of PostgreSQL instead, with a row for each record.

This command runs the two rows that every run of the tests has, the other runs the rest; it installs the frameworks
into `.cache/ecosystem`. With `-- --against kafka` behind it, both run against Apache Kafka:

    ./scripts/test ecosystem
    ./scripts/test ecosystem --long

| name | version | delivered | program | needs | traps of its own |
|---|---|---|---|---|---|
"""

_TAIL = """
A trap is a behaviour of the tool that surprises with Apache Kafka, too.

brod, Erlang's client, is not run: Debian has no package of it, nor of the Erlang libraries that it is built from.
"""


def page() -> str:
    """Return the whole page."""
    return _HEAD + "".join(map(_line, sorted(ROWS, key=lambda row: row.name.lower()))) + _TAIL


def _line(row: Row) -> str:
    program = f"[{row.source.name}](../tests/ecosystem/{row.program})"
    return f"| {row.name} | {row.version} | {row.guarantee} | {program} | {row.settings} | {row.traps} |\n"

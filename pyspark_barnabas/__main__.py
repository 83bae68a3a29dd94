"""`python -m pyspark_barnabas`: inspect and repair a sink from a terminal, as docs/ledger.md describes."""

from __future__ import annotations

import sys

from pyspark_barnabas.cli.command_line import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

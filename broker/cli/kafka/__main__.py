"""`python -m barnabas.broker.cli.kafka TOOL …` runs a tool; `--names` lists the names in /opt/kafka/bin."""

import sys

from barnabas.broker.cli.kafka import MISSING, TOOLS, main

if sys.argv[1:] == ["--names"]:
    print("\n".join(sorted((*TOOLS, *MISSING))))
else:
    sys.exit(main(sys.argv[1:]))

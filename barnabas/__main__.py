"""`python -m barnabas`: the command line."""

import sys

from barnabas.broker.cli import main

sys.exit(main())

"""`python -m barnabas`: the command line."""

import sys

from broker.cli import main

sys.exit(main())

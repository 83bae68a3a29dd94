"""`barnabas`, but one marker is written in a turn of the loop: so a request comes in while a transaction is completed.

Apache Kafka needs milliseconds for two hundred markers, and others ask in between. Barnabas needs less than a request
takes to arrive. Run as a program, with the arguments of `barnabas`.
"""

import sys
from dataclasses import replace

from barnabas.broker.cli import main
from barnabas.broker.coordinator.transaction import transaction_marker_writer

if __name__ == "__main__":
    transaction_marker_writer.WRITING = replace(transaction_marker_writer.WRITING, steps_max=1)
    sys.exit(main(sys.argv[1:]))

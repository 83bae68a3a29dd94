#!/bin/sh
# kafka-python 3 never joins a consumer group if the program calls poll() with its default timeout of 0.
#
# Software: kafka-python 3.0.12, and 2.3.0 beside it; franz-go's kfake v0.0.0-20260918054303-01f206a7e32c as the
#   broker; Python 3.9 and Go 1.26 or later.
# Expected: each poll continues the work of the one before, so a loop of consumer.poll() gets partitions and records.
#   2.3.0 has its partitions after about a dozen calls.
# Seen: with 3.0.12 the loop has no partition after ten seconds and hundreds of calls, and raises and logs nothing.
#   With poll(timeout_ms=500) it has them after the first call.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat > main.go <<'GO'
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/twmb/franz-go/pkg/kfake"
)

func main() {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(4, "topic"))
	if err != nil {
		panic(err)
	}
	fmt.Println(cluster.ListenAddrs()[0])
	io.Copy(io.Discard, os.Stdin) // until it is closed
}
GO
go mod init broker 2>log
go get github.com/twmb/franz-go@v1.22.3 github.com/twmb/franz-go/pkg/kfake@v0.0.0-20260918054303-01f206a7e32c 2>>log
go build -o broker .
cat > finding.py <<'PY'
import subprocess
import sys
import time

import kafka


def partitions(servers, **poll):
    """How many partitions a consumer has at the end of a loop of polls, which takes ten seconds at most."""
    consumer = kafka.KafkaConsumer("topic", bootstrap_servers=servers, group_id=f"group-{poll}")
    end = time.monotonic() + 10
    while time.monotonic() < end and not consumer.assignment():
        consumer.poll(**poll)
        time.sleep(0.02)
    count = len(consumer.assignment())
    consumer.close()
    return count


with subprocess.Popen(["./broker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as broker:
    servers = broker.stdout.readline().strip()
    default, longer = partitions(servers), partitions(servers, timeout_ms=500)
    broker.stdin.close()
print(f"kafka-python {kafka.__version__}: partitions with poll(): {default}, with poll(timeout_ms=500): {longer}")
if (default, longer) != (int(sys.argv[1]), 4):
    print("the behaviour has changed")
    sys.exit(1)
PY
for expected in 2.3.0:4 3.0.12:0; do
    python3 -m venv "${expected%:*}"
    "${expected%:*}/bin/pip" install --quiet "kafka-python==${expected%:*}" 2>>log || { cat log; exit 1; }
    "${expected%:*}/bin/python" finding.py "${expected#*:}"
done

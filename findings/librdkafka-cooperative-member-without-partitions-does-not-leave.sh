#!/bin/sh
# librdkafka sends no LeaveGroup when a cooperative consumer without partitions is closed.
#
# Software: confluent-kafka 2.16.1 with its librdkafka 2.16.0; franz-go's kfake v0.0.0-20260918054303-01f206a7e32c as
#   the broker; Python 3.9 and Go 1.26 or later.
# Expected: close() leaves the group, whatever the strategy, so that the coordinator forgets the member at once.
# Seen: five members share four partitions. With range the member without a partition sends LeaveGroup when it is
#   closed, as one with a partition does. With cooperative-sticky it sends none. Until its session ends (45 s by
#   default) it counts as a member, and a rebalance that begins meanwhile waits for it.
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
python3 -m venv environment
environment/bin/pip install --quiet confluent-kafka==2.16.1 2>>log || { cat log; exit 1; }
cat > finding.py <<'PY'
import itertools
import logging
import subprocess
import sys
import time

from confluent_kafka import Consumer, libversion


class Lines(logging.Handler):
    """Keeps what a client logs."""

    def __init__(self):
        super().__init__()
        self.lines = []

    def emit(self, record):
        self.lines.append(record.getMessage())


class Member:
    numbers = itertools.count()

    def __init__(self, servers, strategy):
        self.log = Lines()
        logger = logging.getLogger(f"member-{next(self.numbers)}")
        logger.setLevel(1)
        logger.propagate = False
        logger.addHandler(self.log)
        settings = {
            "bootstrap.servers": servers,
            "group.id": strategy,
            "partition.assignment.strategy": strategy,
            "heartbeat.interval.ms": 500,
            "debug": "cgrp,protocol",
        }
        self.consumer = Consumer(settings, logger=logger)
        self.consumer.subscribe(["topic"])

    def leaves(self):
        """Close it, and say whether it sent LeaveGroup."""
        before = len(self.log.lines)
        self.consumer.close()
        return any("Sent LeaveGroupRequest" in line for line in self.log.lines[before:])


def left(servers, strategy):
    """Whether a member without a partition leaves when it is closed, and whether one with a partition does."""
    members = [Member(servers, strategy) for _ in range(5)]
    end, settled_since = time.monotonic() + 120, None
    while settled_since is None or time.monotonic() - settled_since < 5:
        now = time.monotonic()
        assert now < end, "the members do not share the partitions"
        for member in members:
            member.consumer.poll(0.1)
        is_shared = sorted(len(member.consumer.assignment()) for member in members) == [0, 1, 1, 1, 1]
        settled_since = (settled_since or now) if is_shared else None
    idle = next(member for member in members if not member.consumer.assignment())
    members.remove(idle)
    result = idle.leaves(), members[0].leaves()
    for member in members[1:]:
        member.consumer.close()
    return result


with subprocess.Popen(["./broker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as broker:
    servers = broker.stdout.readline().strip()
    seen = {strategy: left(servers, strategy) for strategy in ("range", "cooperative-sticky")}
    broker.stdin.close()
for strategy, (idle, busy) in seen.items():
    print(f"librdkafka {libversion()[0]}, {strategy}: leaves without a partition: {idle}, with one: {busy}")
if seen != {"range": (True, True), "cooperative-sticky": (False, True)}:
    print("the behaviour has changed")
    sys.exit(1)
PY
environment/bin/python finding.py

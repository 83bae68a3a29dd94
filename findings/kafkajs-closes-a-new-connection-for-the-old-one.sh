#!/bin/sh
# A kafkajs client that is disconnected and connected again closes its new connection when it hears the end of the old.
#
# Software: kafkajs 2.2.4, Node.js 18 or later; confluent-kafka 2.16.1 with librdkafka 2.16.0 (test.mock.num.brokers) as
#   the broker.
# Expected: disconnect() resolves when it is done, and a client that connect() has resolved for can be used. But the
#   handlers of the old socket stay in place and act on the connection's present socket. So the first call
#   fails with a network error, though the broker closed no connection in use. A call that kafkajs retries (a
#   producer's send) is only late; a call of the admin client is not retried, and the second may fail as well.
# Seen: after disconnect() and connect() the first describeCluster() of 20 clients out of 20 fails: "Connection error:
#   write after end" or "Closed connection", which of them is a matter of time. Of 20 new clients, none.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet install confluent-kafka==2.16.1
cd "$folder"
npm install --silent --no-audit --no-fund kafkajs@2.2.4 >log
cat > main.js <<'JS'
const { Kafka, logLevel } = require('kafkajs')

const [, , host, port] = process.argv
const kafka = new Kafka({ brokers: [`${host}:${port}`], logLevel: logLevel.NOTHING })

/** The errors of the first call of 20 clients, each of them connected so many times. */
const errors = async times => {
  const seen = []
  for (let client = 0; client < 20; client++) {
    const admin = kafka.admin()
    await admin.connect()
    for (let time = 1; time < times; time++) {
      await admin.describeCluster()
      await admin.disconnect()
      await admin.connect()
    }
    await admin.describeCluster().catch(error => seen.push(error.message))
  }
  return seen
}

const main = async () => {
  const once = await errors(1)
  const twice = await errors(2)
  const version = require('kafkajs/package.json').version
  console.log(`kafkajs ${version}: ${once.length} of 20 calls fail after connect(), ${twice.length} after another`)
  console.log([...new Set(twice)].join('\n'))
  const asSeen = once.length === 0 && /write after end|Closed connection/.test(twice.join())
  if (!asSeen) throw new Error('the behaviour has changed')
}
main().then(() => process.exit(0), error => {
  console.error(error.message)
  process.exit(1)
})
JS
"$folder/venv/bin/python" - <<'PYTHON'
import subprocess
import sys

from confluent_kafka import Producer

producer = Producer({"test.mock.num.brokers": 1, "log_level": 0})
(broker,) = producer.list_topics(timeout=30).brokers.values()
sys.exit(subprocess.run(["node", "main.js", broker.host, str(broker.port)], timeout=300).returncode)
PYTHON

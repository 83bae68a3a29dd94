#!/bin/sh
# kafkajs keeps the bytes of an answer that a closed connection cut off, and reads the next connection behind them.
#
# Software: kafkajs 2.2.4, Node.js 18 or later; confluent-kafka 2.16.1 with librdkafka 2.16.0 (test.mock.num.brokers) as
#   the broker, behind a relay that closes one connection while it forwards an answer.
# Expected: the bytes of a closed connection are dropped, so that a broker or a proxy that stops within an answer
#   costs one failed call, like one that stops before it. kafkajs connects again with the same buffer: the rest of the old
#   answer is taken from the new ones, so that call after call times out although the broker answers it at once.
# Seen: where nothing of the answer was forwarded, "Closed connection", then two calls are done; where its first 5 bytes
#   were, "Closed connection", then twice "Request Metadata(…) timed out".
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet install confluent-kafka==2.16.1
cd "$folder"
npm install --silent --no-audit --no-fund kafkajs@2.2.4 >log
cat > main.js <<'JS'
const assert = require('node:assert')
const net = require('node:net')
const { Kafka, logLevel } = require('kafkajs')

const [, , host, port] = process.argv

/** A server that hands on what client and broker write. `cutAfter`, if not null, is how much of the next answer. */
const relay = () => {
  const state = { cutAfter: null }
  state.server = net.createServer(client => {
    const broker = net.connect(Number(port), host)
    client.on('data', request => broker.write(request))
    broker.on('data', answer => {
      if (state.cutAfter === null) return client.write(answer)
      client.end(answer.subarray(0, state.cutAfter))
      state.cutAfter = null
      broker.destroy()
    })
    for (const [one, other] of [[client, broker], [broker, client]]) {
      one.on('error', () => {})
      one.on('close', () => other.destroy())
    }
  })
  return state
}

/** What becomes of a call whose answer is cut after so many bytes, and of two calls after it. */
const calls = async bytes => {
  const state = relay()
  await new Promise(resolve => state.server.listen(0, '127.0.0.1', resolve))
  const kafka = new Kafka({
    brokers: [`${host}:${port}`],
    logLevel: logLevel.NOTHING,
    requestTimeout: 3000,
    socketFactory: ({ onConnect }) => net.connect(state.server.address().port, '127.0.0.1', onConnect),
  })
  const admin = kafka.admin()
  const call = topics => admin.fetchTopicMetadata({ topics }).then(() => 'done', error => error.message)
  await admin.connect()
  state.cutAfter = bytes
  return [await call([]), await call(['topic-1']), await call(['topic-2'])]
}

const main = async () => {
  const before = await calls(0)
  const within = await calls(5)
  console.log(`kafkajs ${require('kafkajs/package.json').version}, cut before the answer: ${before.join('; ')}`)
  console.log(`cut after 5 bytes of it: ${within.join('; ')}`)
  const form = seen => seen.map(text => text.replace(/^Request Metadata\(.*\) timed out$/, 'timed out')).join('; ')
  const asSeen =
    form(before) === 'Closed connection; done; done' && form(within) === 'Closed connection; timed out; timed out'
  assert(asSeen, 'the behaviour has changed')
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
for number in range(30):
    producer.produce(f"topic-{number}", "a record", partition=0)
assert producer.flush(30) == 0
(broker,) = producer.list_topics(timeout=30).brokers.values()
sys.exit(subprocess.run(["node", "main.js", broker.host, str(broker.port)], timeout=300).returncode)
PYTHON

#!/bin/sh
# @platformatic/kafka gives aborted records to a read_committed consumer if a fetch has two aborts of one producer.
#
# Software: @platformatic/kafka 1.35.0, Node.js 20.19 or later; franz-go v1.22.3 as the producer, and its kfake
#   v0.0.0-20260918054303-01f206a7e32c as the broker; Go 1.26 or later.
# Expected: isolationLevel 1 (read_committed) never shows a record of an aborted transaction, whatever the fetches
#   contain. A broker lists each aborted transaction with its producer and first offset, and an abort marker ends the
#   oldest one of its producer. franz-go reads the same partitions with kgo.ReadCommitted so.
# Seen: one transaction per producer is remembered, the last, so the record of the abort before it is delivered. So is a
#   record whose marker is in a later fetch: an aborted transaction need only be larger than a fetch, as are two records
#   of 3,000 bytes with a maxBytes of 4,000.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat > main.go <<'GO'
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

var ctx = context.Background()

// Writes one transaction, a batch for each of its records.
func write(producer *kgo.Client, topic string, end kgo.TransactionEndTry, values ...string) {
	must(producer.BeginTransaction())
	for _, value := range values {
		must(producer.ProduceSync(ctx, &kgo.Record{Topic: topic, Value: []byte(value)}).FirstErr())
	}
	must(producer.EndTransaction(ctx, end))
}

// Reads like a consumer of read_committed: what is committed, and nothing else.
func committed(address, topic string) (values []string) {
	consumer, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.ConsumeTopics(topic),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	must(err)
	defer consumer.Close()
	for len(values) == 0 || values[len(values)-1] != "committed" {
		fetches := consumer.PollFetches(ctx)
		must(fetches.Err())
		for _, record := range fetches.Records() {
			values = append(values, string(record.Value[:9]))
		}
	}
	return values
}

func main() {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "one", "two", "large"))
	must(err)
	address := cluster.ListenAddrs()[0]
	producer, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.TransactionalID("producer"),
		kgo.ProducerBatchCompression(kgo.NoCompression()))
	must(err)
	filling := strings.Repeat(".", 3000)
	write(producer, "one", kgo.TryAbort, "aborted 1")
	write(producer, "two", kgo.TryAbort, "aborted 1")
	write(producer, "two", kgo.TryAbort, "aborted 2")
	write(producer, "large", kgo.TryAbort, "aborted 1"+filling, "aborted 2"+filling)
	for _, topic := range []string{"one", "two", "large"} {
		write(producer, topic, kgo.TryCommit, "committed")
		fmt.Fprintln(os.Stderr, "franz-go v1.22.3, topic", topic+":", committed(address, topic))
	}
	producer.Close()
	fmt.Println(address)
	io.Copy(io.Discard, os.Stdin) // until it is closed
}
GO
cat > finding.mjs <<'JS'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { Consumer, stringDeserializers } from '@platformatic/kafka'

const broker = spawn('./broker', { stdio: ['pipe', 'pipe', 'inherit'] })
const [address] = await once(createInterface(broker.stdout), 'line')

async function read (topic, maxBytes) {
  const consumer = new Consumer({
    clientId: 'finding', groupId: topic, bootstrapBrokers: [address], deserializers: stringDeserializers
  })
  const stream = await consumer.consume({
    topics: [topic], mode: 'earliest', isolationLevel: 1, maxBytes, maxBytesPerPartition: maxBytes, autocommit: false
  })
  const values = []
  for await (const message of stream) {
    values.push(message.value.slice(0, 9))
    if (message.value === 'committed') break
  }
  await consumer.close(true)
  console.log(`@platformatic/kafka 1.35.0, topic ${topic}, maxBytes ${maxBytes}: ${values.join(', ')}`)
  return values.join()
}

const seen = [await read('one', 1000000), await read('two', 1000000), await read('large', 1000000)]
seen.push(await read('large', 4000))
broker.stdin.end()
const expected = ['committed', 'aborted 1,committed', 'committed', 'aborted 1,committed']
if (JSON.stringify(seen) !== JSON.stringify(expected)) {
  console.log('the behaviour has changed')
  process.exit(1)
}
JS
go mod init broker 2>log
go get github.com/twmb/franz-go@v1.22.3 github.com/twmb/franz-go/pkg/kfake@v0.0.0-20260918054303-01f206a7e32c 2>>log
go build -o broker .
npm install --silent --no-audit --no-fund @platformatic/kafka@1.35.0 >>log 2>&1 || { cat log; exit 1; }
node finding.mjs

#!/bin/sh
# kafka-go shows the producer's timestamps of a topic whose timestamps are the broker's (LogAppendTime).
#
# Software: kafka-go v0.4.51 (Reader); franz-go's kfake v0.0.0-20260918054303-01f206a7e32c as the broker, kmsg v1.15.1
#   to write the batch, franz-go v1.22.3 and sarama v1.61.1 to read it as well; Go 1.26 or later.
# Expected: with message.timestamp.type=LogAppendTime a broker sets a bit in the attributes of each batch, and its own
#   time as the largest timestamp (KIP-32). It leaves the others as the producer wrote them: with that bit each record's
#   timestamp is the largest. Java's clients, librdkafka, franz-go and sarama read it so.
# Seen: a record that a producer made at 1000 ms and the broker appended at 5000 ms has 1000 ms in kafka-go. A program
#   that measures delays, or that deletes by age, follows the producers' clocks, which the topic was to be rid of.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat > main.go <<'GO'
package main

import (
	"context"
	"fmt"
	"hash/crc32"
	"os"

	"github.com/IBM/sarama"
	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// The batch of one record as a broker keeps it in a topic with LogAppendTime.
func appended(producerMS, brokerMS int64) []byte {
	record := kmsg.Record{Value: []byte("value")}
	record.Length = int32(len(record.AppendTo(nil)) - 1) // without its own varint
	batch := kmsg.NewRecordBatch()
	batch.PartitionLeaderEpoch, batch.Magic, batch.Attributes = 0, 2, 1<<3
	batch.FirstTimestamp, batch.MaxTimestamp = producerMS, brokerMS
	batch.ProducerID, batch.ProducerEpoch, batch.FirstSequence = -1, -1, -1
	batch.NumRecords, batch.Records = 1, record.AppendTo(nil)
	raw := batch.AppendTo(nil)
	batch.Length = int32(len(raw) - 12)
	batch.CRC = int32(crc32.Checksum(raw[21:], crc32.MakeTable(crc32.Castagnoli)))
	return batch.AppendTo(nil)
}

func main() {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "topic"))
	must(err)
	defer cluster.Close()
	ctx, address := context.Background(), cluster.ListenAddrs()[0]
	cluster.ControlKey(int16(kmsg.Fetch), func(request kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		asked := request.(*kmsg.FetchRequest)
		response := asked.ResponseKind().(*kmsg.FetchResponse)
		if len(asked.Topics) == 0 {
			return response, nil, true
		}
		partition := kmsg.NewFetchResponseTopicPartition()
		partition.HighWatermark, partition.LastStableOffset = 1, 1
		if asked.Topics[0].Partitions[0].FetchOffset == 0 {
			partition.RecordBatches = appended(1000, 5000)
		}
		topic := kmsg.NewFetchResponseTopic()
		topic.Topic, topic.TopicID = asked.Topics[0].Topic, asked.Topics[0].TopicID
		topic.Partitions = append(topic.Partitions, partition)
		response.Topics = append(response.Topics, topic)
		return response, nil, true
	})

	reader := kafka.NewReader(kafka.ReaderConfig{Brokers: []string{address}, Topic: "topic"})
	message, err := reader.ReadMessage(ctx)
	must(err)
	client, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.ConsumeTopics("topic"))
	must(err)
	fetches := client.PollFetches(ctx)
	must(fetches.Err())
	config := sarama.NewConfig()
	consumer, err := sarama.NewConsumer([]string{address}, config)
	must(err)
	partition, err := consumer.ConsumePartition("topic", 0, sarama.OffsetOldest)
	must(err)

	seen := []int64{
		message.Time.UnixMilli(), fetches.Records()[0].Timestamp.UnixMilli(), (<-partition.Messages()).Timestamp.UnixMilli(),
	}
	fmt.Printf("appended at 5000 ms: kafka-go v0.4.51 %d, franz-go v1.22.3 %d, sarama v1.61.1 %d\n", seen[0], seen[1], seen[2])
	if seen[0] != 1000 || seen[1] != 5000 || seen[2] != 5000 {
		fmt.Println("the behaviour has changed")
		os.Exit(1)
	}
}
GO
go mod init finding 2>log
go get github.com/segmentio/kafka-go@v0.4.51 github.com/IBM/sarama@v1.61.1 github.com/twmb/franz-go@v1.22.3 \
	github.com/twmb/franz-go/pkg/kmsg@v1.15.1 \
	github.com/twmb/franz-go/pkg/kfake@v0.0.0-20260918054303-01f206a7e32c 2>>log || { cat log; exit 1; }
go run .

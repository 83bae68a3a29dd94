// Sarama as it was before 1.45.1, when it left the largest timestamp of a batch at -1: see IBM/sarama#3108. In a module
// of its own, since a module has one version of Sarama.
//
//	older_sarama ADDRESS TOPIC COMPRESSION IDEMPOTENT TIMESTAMP…
//
// writes one batch of a record for each timestamp (ms) to partition 0, and prints their offsets.
package main

import (
	"fmt"
	"log"
	"os"
	"strconv"
	"time"

	"github.com/IBM/sarama"
)

var codecs = map[string]sarama.CompressionCodec{
	"none":   sarama.CompressionNone,
	"gzip":   sarama.CompressionGZIP,
	"snappy": sarama.CompressionSnappy,
	"lz4":    sarama.CompressionLZ4,
	"zstd":   sarama.CompressionZSTD,
}

func main() {
	address, topic, times := os.Args[1], os.Args[2], os.Args[5:]
	config := sarama.NewConfig()
	config.Version = sarama.V2_1_0_0
	config.Producer.Return.Successes = true // which a SyncProducer wants
	config.Producer.Partitioner = sarama.NewManualPartitioner
	config.Producer.Compression = codecs[os.Args[3]]
	config.Producer.Flush.Messages = len(times) // all in one batch
	if os.Args[4] == "true" {
		config.Producer.Idempotent = true
		config.Producer.RequiredAcks = sarama.WaitForAll // this and the next, idempotence wants
		config.Net.MaxOpenRequests = 1
	}
	producer, err := sarama.NewSyncProducer([]string{address}, config)
	if err != nil {
		log.Fatal(err)
	}
	defer producer.Close()
	sent := make([]*sarama.ProducerMessage, len(times))
	for i, word := range times {
		ms, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			log.Fatal(err)
		}
		sent[i] = &sarama.ProducerMessage{Topic: topic, Timestamp: time.UnixMilli(ms), Value: sarama.StringEncoder(word)}
	}
	if err := producer.SendMessages(sent); err != nil {
		log.Fatal(err)
	}
	for _, m := range sent {
		fmt.Println(m.Offset)
	}
}

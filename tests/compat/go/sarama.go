package main

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/IBM/sarama"
)

type saramaClient struct{}

var saramaCodecs = map[string]sarama.CompressionCodec{
	"none":   sarama.CompressionNone,
	"gzip":   sarama.CompressionGZIP,
	"snappy": sarama.CompressionSnappy,
	"lz4":    sarama.CompressionLZ4,
	"zstd":   sarama.CompressionZSTD,
}

func (saramaClient) write(address, topic, compression string, messages []message) ([]int64, error) {
	config := sarama.NewConfig()
	config.Producer.Return.Successes = true // which a SyncProducer wants
	config.Producer.Partitioner = sarama.NewManualPartitioner
	config.Producer.Compression = saramaCodecs[compression]
	producer, err := sarama.NewSyncProducer(strings.Split(address, ","), config)
	if err != nil {
		return nil, err
	}
	defer producer.Close()
	sent := make([]*sarama.ProducerMessage, len(messages))
	for i, m := range messages {
		sent[i] = &sarama.ProducerMessage{Topic: topic, Partition: m.partition, Timestamp: m.timestamp}
		if m.key != nil {
			sent[i].Key = sarama.ByteEncoder(m.key)
		}
		if m.value != nil {
			sent[i].Value = sarama.ByteEncoder(m.value)
		}
		for _, h := range m.headers {
			sent[i].Headers = append(sent[i].Headers, sarama.RecordHeader{Key: []byte(h.key), Value: h.value})
		}
	}
	if err := producer.SendMessages(sent); err != nil {
		return nil, err
	}
	offsets := make([]int64, len(sent))
	for i, m := range sent {
		offsets[i] = m.Offset
	}
	return offsets, nil
}

func (saramaClient) read(address, topic string, found func(record)) error {
	client, err := sarama.NewClient(strings.Split(address, ","), sarama.NewConfig())
	if err != nil {
		return err
	}
	defer client.Close()
	consumer, err := sarama.NewConsumerFromClient(client)
	if err != nil {
		return err
	}
	defer consumer.Close()
	partitions, err := client.Partitions(topic)
	if err != nil {
		return err
	}
	results := make(chan error, len(partitions))
	for _, partition := range partitions { // all at once, since the end of each waits for a fetch that finds nothing
		go func() { results <- readPartition(client, consumer, topic, partition, found) }()
	}
	for range partitions {
		err = errors.Join(err, <-results)
	}
	return err
}

func readPartition(
	client sarama.Client, consumer sarama.Consumer, topic string, partition int32, found func(record),
) error {
	end, err := client.GetOffset(topic, partition, sarama.OffsetNewest)
	if err != nil || end == 0 {
		return err
	}
	records, err := consumer.ConsumePartition(topic, partition, sarama.OffsetOldest)
	if err != nil {
		return err
	}
	for m := range records.Messages() {
		found(saramaRecord(m))
		if m.Offset+1 >= end {
			break
		}
	}
	return records.Close()
}

func (saramaClient) readInGroup(address, topic, group string, count int, found func(record)) error {
	config := sarama.NewConfig()
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	member, err := sarama.NewConsumerGroup(strings.Split(address, ","), group, config)
	if err != nil {
		return err
	}
	ctx, enough := context.WithCancel(context.Background())
	defer enough()
	taker := &saramaTaker{found: found, enough: enough}
	taker.missing.Store(int64(count))
	for ctx.Err() == nil && err == nil { // Consume returns at each rebalance
		err = member.Consume(ctx, []string{topic}, taker)
	}
	return errors.Join(err, member.Close())
}

// saramaTaker hands on what its member of a group gets, until none is missing.
type saramaTaker struct {
	found   func(record)
	missing atomic.Int64
	enough  func()
}

func (*saramaTaker) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (*saramaTaker) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (taker *saramaTaker) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case m, open := <-claim.Messages():
			if !open {
				return nil
			}
			taker.found(saramaRecord(m))
			session.MarkMessage(m, "")
			if taker.missing.Add(-1) == 0 {
				taker.enough()
			}
		case <-session.Context().Done():
			return nil
		}
	}
}

func (saramaClient) stream(address, topic string, count, window int, acknowledged func(int, int64)) error {
	config := sarama.NewConfig()
	config.Producer.Idempotent = true
	config.Producer.RequiredAcks = sarama.WaitForAll // this and the next, idempotence wants
	config.Net.MaxOpenRequests = 1
	config.Producer.Return.Successes = true
	config.Producer.Retry.Max = 100 // by default it gives up within a second, and a broker may need more to come back
	config.Metadata.Retry.Max = 100
	producer, err := sarama.NewAsyncProducer(strings.Split(address, ","), config)
	if err != nil {
		return err
	}
	free := make(chan struct{}, window)
	go func() {
		for i := range count {
			free <- struct{}{}
			value := sarama.StringEncoder(strconv.Itoa(i))
			producer.Input() <- &sarama.ProducerMessage{Topic: topic, Value: value, Metadata: i}
		}
	}()
	for range count {
		select {
		case m := <-producer.Successes():
			acknowledged(m.Metadata.(int), m.Offset)
			<-free
		case failure := <-producer.Errors():
			return failure
		}
	}
	return producer.Close()
}

func saramaRecord(r *sarama.ConsumerMessage) record {
	m := message{partition: r.Partition, timestamp: r.Timestamp, key: r.Key, value: r.Value}
	for _, h := range r.Headers {
		m.headers = append(m.headers, header{string(h.Key), h.Value})
	}
	return record{m, r.Offset}
}

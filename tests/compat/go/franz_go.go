package main

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

type franzGo struct{}

var franzCodecs = map[string]kgo.CompressionCodec{
	"none":   kgo.NoCompression(),
	"gzip":   kgo.GzipCompression(),
	"snappy": kgo.SnappyCompression(),
	"lz4":    kgo.Lz4Compression(),
	"zstd":   kgo.ZstdCompression(),
}

func (franzGo) write(address, topic, compression string, messages []message) ([]int64, error) {
	producer, err := kgo.NewClient(
		kgo.SeedBrokers(strings.Split(address, ",")...),
		kgo.DefaultProduceTopic(topic),
		kgo.AllowAutoTopicCreation(),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchCompression(franzCodecs[compression]),
	)
	if err != nil {
		return nil, err
	}
	defer producer.Close()
	records := make([]*kgo.Record, len(messages))
	for i, m := range messages {
		records[i] = &kgo.Record{Partition: m.partition, Timestamp: m.timestamp, Key: m.key, Value: m.value}
		for _, h := range m.headers {
			records[i].Headers = append(records[i].Headers, kgo.RecordHeader{Key: h.key, Value: h.value})
		}
	}
	if err := producer.ProduceSync(context.Background(), records...).FirstErr(); err != nil {
		return nil, err
	}
	offsets := make([]int64, len(records))
	for i, r := range records {
		offsets[i] = r.Offset
	}
	return offsets, nil
}

func (franzGo) read(address, topic string, found func(record)) error {
	consumer, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(address, ",")...))
	if err != nil {
		return err
	}
	defer consumer.Close()
	ends, err := kadm.NewClient(consumer).ListEndOffsets(context.Background(), topic)
	if err != nil {
		return err
	}
	missing := map[int32]int64{} // partition: its end, until that is reached
	start := map[int32]kgo.Offset{}
	ends.Each(func(end kadm.ListedOffset) {
		if end.Offset > 0 {
			missing[end.Partition] = end.Offset
			start[end.Partition] = kgo.NewOffset().AtStart()
		}
	})
	if err := ends.Error(); err != nil || len(missing) == 0 {
		return err
	}
	consumer.AddConsumePartitions(map[string]map[int32]kgo.Offset{topic: start})
	for len(missing) > 0 {
		fetches := consumer.PollFetches(context.Background())
		if err := fetches.Err(); err != nil {
			return err
		}
		fetches.EachRecord(func(r *kgo.Record) {
			found(franzRecord(r))
			if r.Offset+1 >= missing[r.Partition] {
				delete(missing, r.Partition)
			}
		})
	}
	return nil
}

func (franzGo) readInGroup(address, topic, group string, count int, found func(record)) error {
	consumer, err := kgo.NewClient(
		kgo.SeedBrokers(strings.Split(address, ",")...), kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit())
	if err != nil {
		return err
	}
	defer consumer.Close()
	for n := 0; n < count; {
		fetches := consumer.PollFetches(context.Background())
		var left *kgo.ErrGroupSession // of a broker that is away for long: it goes on by itself
		if err := fetches.Err(); err != nil && !errors.As(err, &left) {
			return err
		}
		fetches.EachRecord(func(r *kgo.Record) {
			found(franzRecord(r))
			n++
		})
	}
	return consumer.CommitUncommittedOffsets(context.Background())
}

func (franzGo) stream(address, topic string, count, window int, acknowledged func(int, int64)) error {
	producer, err := kgo.NewClient(
		kgo.SeedBrokers(strings.Split(address, ",")...),
		kgo.DefaultProduceTopic(topic),
		kgo.AllowAutoTopicCreation(),
		kgo.MaxBufferedRecords(window), // Produce blocks while so many are in flight
	)
	if err != nil {
		return err
	}
	defer producer.Close()
	failed := make(chan error, count)
	for i := range count {
		r := &kgo.Record{Value: []byte(strconv.Itoa(i))}
		producer.Produce(context.Background(), r, func(r *kgo.Record, err error) {
			if err != nil {
				failed <- err
				return
			}
			acknowledged(i, r.Offset)
		})
	}
	if err := producer.Flush(context.Background()); err != nil {
		return err
	}
	close(failed)
	return <-failed
}

func franzRecord(r *kgo.Record) record {
	m := message{partition: r.Partition, timestamp: r.Timestamp, key: r.Key, value: r.Value}
	for _, h := range r.Headers {
		m.headers = append(m.headers, header{h.Key, h.Value})
	}
	return record{m, r.Offset}
}

package main

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"
)

type kafkaGo struct{}

// kafkaGoWait is how long a fetch may wait. A reader ends only when its fetch does; the default is ten seconds.
const kafkaGoWait = 100 * time.Millisecond

// kafkaGoRestart is how long a broker may take to come back.
const kafkaGoRestart = 60 * time.Second

var kafkaGoCodecs = map[string]kafka.Compression{
	"gzip": kafka.Gzip, "snappy": kafka.Snappy, "lz4": kafka.Lz4, "zstd": kafka.Zstd,
}

// place tells a message's partition and where it stands among those that are written.
type place struct {
	partition int
	index     int
}

func (kafkaGo) write(address, topic, compression string, messages []message) ([]int64, error) {
	offsets := make([]int64, len(messages))
	writer, err := newKafkaGoWriter(address, topic, kafkaGoCodecs[compression], func(index int, offset int64) {
		offsets[index] = offset
	})
	if err != nil {
		return nil, err
	}
	sent := make([]kafka.Message, len(messages))
	for i, m := range messages {
		sent[i] = kafka.Message{Time: m.timestamp, Key: m.key, Value: m.value, WriterData: place{int(m.partition), i}}
		for _, h := range m.headers {
			sent[i].Headers = append(sent[i].Headers, kafka.Header{Key: h.key, Value: h.value})
		}
	}
	err = writer.WriteMessages(context.Background(), sent...)
	return offsets, errors.Join(err, writer.Close())
}

// stream writes without numbers, as kafka-go knows none: what was in flight at a kill may be there twice.
func (kafkaGo) stream(address, topic string, count, window int, acknowledged func(int, int64)) error {
	writer, err := newKafkaGoWriter(address, topic, 0, acknowledged)
	if err != nil {
		return err
	}
	for first := 0; first < count; first += window {
		var sent []kafka.Message
		for i := first; i < min(first+window, count); i++ {
			sent = append(sent, kafka.Message{Value: []byte(strconv.Itoa(i)), WriterData: place{0, i}})
		}
		if err := writeOverARestart(writer, sent); err != nil {
			return errors.Join(err, writer.Close())
		}
	}
	return writer.Close()
}

// writeOverARestart asks again where the writer could not look the topic up: it has sent nothing then, and does not
// try again by itself, as it does with what it has begun to send. An error of what was sent is a WriteErrors.
func writeOverARestart(writer *kafka.Writer, messages []kafka.Message) error {
	deadline := time.Now().Add(kafkaGoRestart)
	for {
		err := writer.WriteMessages(context.Background(), messages...)
		var sent kafka.WriteErrors
		if err == nil || errors.As(err, &sent) || time.Now().After(deadline) {
			return err
		}
		time.Sleep(kafkaGoWait) // nothing tells when the broker is back
	}
}

// newKafkaGoWriter writes where the place in a message's WriterData says, and tells the offset of each by its index.
func newKafkaGoWriter(
	address, topic string, compression kafka.Compression, written func(index int, offset int64),
) (*kafka.Writer, error) {
	// Asking for the leader waits until the topic is made; a Writer alone may fail before that.
	leader, err := kafka.DialLeader(context.Background(), "tcp", address, topic, 0)
	if err != nil {
		return nil, err
	}
	var mutex sync.Mutex
	return &kafka.Writer{
		Addr:         kafka.TCP(address),
		Topic:        topic,
		RequiredAcks: kafka.RequireAll,
		Compression:  compression,
		BatchTimeout: time.Millisecond,
		MaxAttempts:  100, // by default it gives up within seconds, and a broker may need more to come back
		// The topic is there, but not among what writers before this one have heard: so they ask.
		AllowAutoTopicCreation: true,
		Balancer: kafka.BalancerFunc(func(m kafka.Message, _ ...int) int {
			return m.WriterData.(place).partition
		}),
		Completion: func(messages []kafka.Message, err error) {
			mutex.Lock()
			defer mutex.Unlock()
			for _, m := range messages {
				if err == nil {
					written(m.WriterData.(place).index, m.Offset)
				}
			}
		},
	}, leader.Close()
}

func (kafkaGo) read(address, topic string, found func(record)) error {
	conn, err := kafka.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	partitions, err := conn.ReadPartitions(topic)
	if err != nil {
		return err
	}
	for _, partition := range partitions {
		if err := readKafkaGoPartition(address, topic, partition.ID, found); err != nil {
			return err
		}
	}
	return nil
}

func readKafkaGoPartition(address, topic string, partition int, found func(record)) error {
	leader, err := kafka.DialLeader(context.Background(), "tcp", address, topic, partition)
	if err != nil {
		return err
	}
	defer leader.Close()
	_, end, err := leader.ReadOffsets()
	if err != nil {
		return err
	}
	reader := kafka.NewReader(kafka.ReaderConfig{
		Brokers: []string{address}, Topic: topic, Partition: partition, MaxWait: kafkaGoWait,
	})
	for offset := int64(0); offset < end; {
		m, err := reader.ReadMessage(context.Background())
		if err != nil {
			return err
		}
		found(kafkaGoRecord(m))
		offset = m.Offset + 1
	}
	return reader.Close()
}

func (kafkaGo) readInGroup(address, topic, group string, count int, found func(record)) error {
	reader := kafka.NewReader(kafka.ReaderConfig{
		Brokers: []string{address}, Topic: topic, GroupID: group, StartOffset: kafka.FirstOffset, MaxWait: kafkaGoWait,
	})
	for range count {
		m, err := reader.FetchMessage(context.Background())
		if err != nil {
			return err
		}
		found(kafkaGoRecord(m))
		if err := reader.CommitMessages(context.Background(), m); err != nil {
			return err
		}
	}
	return reader.Close()
}

func kafkaGoRecord(r kafka.Message) record {
	m := message{partition: int32(r.Partition), timestamp: r.Time, key: r.Key, value: r.Value}
	for _, h := range r.Headers {
		m.headers = append(m.headers, header{h.Key, h.Value})
	}
	return record{m, r.Offset}
}

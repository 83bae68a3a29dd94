package main

import (
	"context"
	"errors"

	"github.com/segmentio/kafka-go"
)

// kafkaGoMember is a member of a group that is left to its partitions: it reads them one record at a time, in turn.
type kafkaGoMember struct {
	group      *kafka.ConsumerGroup
	generation *kafka.Generation
	found      chan kafka.Message
	failed     chan error
	stop       func()
	positions  map[int]int64 // where to read on, of the partitions from which something was read
}

func joinKafkaGo(address, group, topic string) (*kafkaGoMember, error) {
	joined, err := kafka.NewConsumerGroup(kafka.ConsumerGroupConfig{
		ID: group, Brokers: []string{address}, Topics: []string{topic}, StartOffset: kafka.FirstOffset,
		SessionTimeout: sessionTimeout, HeartbeatInterval: sessionTimeout / 12,
	})
	if err != nil {
		return nil, err
	}
	var generation *kafka.Generation
	err = patiently(func() error {
		generation, err = joined.Next(context.Background())
		return err
	})
	if err != nil {
		return nil, errors.Join(err, joined.Close())
	}
	ctx, stop := context.WithCancel(context.Background())
	member := &kafkaGoMember{joined, generation, make(chan kafka.Message), make(chan error, 1), stop, map[int]int64{}}
	for _, assigned := range generation.Assignments[topic] {
		go member.read(ctx, address, topic, assigned)
	}
	return member, nil
}

func (member *kafkaGoMember) read(ctx context.Context, address, topic string, assigned kafka.PartitionAssignment) {
	reader := kafka.NewReader(kafka.ReaderConfig{
		Brokers: []string{address}, Topic: topic, Partition: assigned.ID, IsolationLevel: kafka.ReadCommitted,
	})
	defer reader.Close()
	err := reader.SetOffset(assigned.Offset)
	for err == nil {
		var m kafka.Message
		if m, err = reader.ReadMessage(ctx); err == nil {
			select {
			case member.found <- m:
			case <-ctx.Done():
				return
			}
		}
	}
	if ctx.Err() == nil {
		member.failed <- err
	}
}

func (member *kafkaGoMember) next() (kafka.Message, error) {
	select {
	case m := <-member.found:
		member.positions[m.Partition] = m.Offset + 1
		return m, nil
	case err := <-member.failed:
		return kafka.Message{}, err
	}
}

func (member *kafkaGoMember) leave() error {
	member.stop()
	return member.group.Close()
}

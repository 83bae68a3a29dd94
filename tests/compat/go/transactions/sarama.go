package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/IBM/sarama"
)

type saramaProducer struct {
	address  string
	producer sarama.SyncProducer
	member   *saramaMember // nil until it copies
}

func openSarama(address, transactionalID string) (producer, error) {
	config := sarama.NewConfig()
	config.Producer.Transaction.ID = transactionalID
	config.Producer.Idempotent = true // this and the next two, transactions want
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Net.MaxOpenRequests = 1
	config.Producer.Return.Successes = true
	config.Producer.Partitioner = sarama.NewManualPartitioner
	config.Producer.Retry.Max = 600 // by default it gives up within seconds, and a broker may need more to come back
	config.Producer.Transaction.Retry.Max = 600
	config.Producer.Transaction.Retry.Backoff = 100 * time.Millisecond
	config.Metadata.Retry.Max = 100
	producer, err := sarama.NewSyncProducer(strings.Split(address, ","), config)
	return &saramaProducer{address: address, producer: producer}, err
}

func (s *saramaProducer) begin() error { return s.producer.BeginTxn() }

func (s *saramaProducer) send(topic string, partition int32, value []byte) error {
	_, _, err := s.producer.SendMessage(
		&sarama.ProducerMessage{Topic: topic, Partition: partition, Value: sarama.ByteEncoder(value)})
	return err
}

func (s *saramaProducer) copy(group, source, target string, count int) error {
	if s.member == nil {
		member, err := joinSarama(s.address, group, source)
		if err != nil {
			return err
		}
		s.member = member
	}
	for range count {
		var m saramaRead
		select {
		case m = <-s.member.found:
		case err := <-s.member.failed:
			return err
		}
		if err := s.send(target, m.Partition, m.Value); err != nil {
			return err
		}
		metadata := sarama.NewConsumerGroupMetadataFromSession(m.session, group, nil)
		if err := s.producer.AddMessageToTxnWithGroupMetadata(m.ConsumerMessage, metadata, nil); err != nil {
			return err
		}
	}
	return nil
}

func (s *saramaProducer) commit() error { return s.producer.CommitTxn() }

func (s *saramaProducer) abort() error {
	return errors.Join(s.producer.AbortTxn(), s.leave())
}

func (s *saramaProducer) close() error {
	return errors.Join(s.leave(), s.producer.Close())
}

func (s *saramaProducer) leave() error {
	if s.member == nil {
		return nil
	}
	err := s.member.leave()
	s.member = nil
	return err
}

func isSaramaFenced(err error) bool {
	return errors.Is(err, sarama.ErrProducerFenced) || errors.Is(err, sarama.ErrInvalidProducerEpoch)
}

// saramaMember hands on what its member of a group gets, one record at a time.
type saramaMember struct {
	group  sarama.ConsumerGroup
	stop   func()
	found  chan saramaRead
	failed chan error
}

// saramaRead is a record and the generation of the group in which it was read.
type saramaRead struct {
	*sarama.ConsumerMessage
	session sarama.ConsumerGroupSession
}

func joinSarama(address, group, topic string) (*saramaMember, error) {
	config := sarama.NewConfig()
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Enable = false
	config.Consumer.IsolationLevel = sarama.ReadCommitted
	config.Consumer.Group.Session.Timeout = sessionTimeout
	config.Consumer.Group.Heartbeat.Interval = sessionTimeout / 12
	config.Metadata.Retry.Max = 100
	joined, err := sarama.NewConsumerGroup(strings.Split(address, ","), group, config)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	member := &saramaMember{joined, stop, make(chan saramaRead), make(chan error, 1)}
	go func() {
		for ctx.Err() == nil { // Consume returns at each rebalance
			if err := joined.Consume(ctx, []string{topic}, member); err != nil && ctx.Err() == nil {
				member.failed <- err
				return
			}
		}
	}()
	return member, nil
}

func (member *saramaMember) leave() error {
	member.stop()
	return member.group.Close()
}

func (*saramaMember) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (*saramaMember) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (member *saramaMember) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case m, open := <-claim.Messages():
			if !open {
				return nil
			}
			select {
			case member.found <- saramaRead{m, session}:
			case <-session.Context().Done():
				return nil
			}
		case <-session.Context().Done():
			return nil
		}
	}
}

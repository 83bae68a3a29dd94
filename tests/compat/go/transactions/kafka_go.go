package main

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
)

// kafkaGo makes transactions out of kafka-go's raw calls: it has no transactional producer of its own. What a broker
// refuses for the moment is asked again, as the calls themselves do not.
type kafkaGo struct {
	client    *kafka.Client
	id        string
	session   *kafka.ProducerSession
	sequences map[place]int32
	added     []place // in this transaction
	member    *kafkaGoMember
}

type place struct {
	topic     string
	partition int
}

var passing = []error{
	kafka.ConcurrentTransactions, kafka.GroupCoordinatorNotAvailable, kafka.GroupLoadInProgress,
	kafka.NotCoordinatorForGroup, kafka.UnknownTopicOrPartition, kafka.NotLeaderForPartition, kafka.LeaderNotAvailable,
}

func openKafkaGo(address, transactionalID string) (producer, error) {
	k := &kafkaGo{
		client:    &kafka.Client{Addr: kafka.TCP(address), Timeout: 30 * time.Second},
		id:        transactionalID,
		sequences: map[place]int32{},
	}
	err := patiently(func() error {
		found, err := k.client.FindCoordinator(context.Background(),
			&kafka.FindCoordinatorRequest{Key: k.id, KeyType: kafka.CoordinatorKeyTypeTransaction})
		if err != nil || found.Error != nil {
			return errors.Join(err, found.Error)
		}
		reply, err := k.client.InitProducerID(context.Background(), &kafka.InitProducerIDRequest{
			TransactionalID: k.id, TransactionTimeoutMs: 60_000, ProducerID: -1, ProducerEpoch: -1,
		})
		if err != nil || reply.Error != nil {
			return errors.Join(err, reply.Error)
		}
		k.session = reply.Producer
		return nil
	})
	return k, err
}

// patiently calls until that succeeds or fails for good, or the broker has been away for a minute.
func patiently(call func() error) error {
	deadline := time.Now().Add(time.Minute)
	for {
		err := call()
		var answered kafka.Error
		isPassing := !errors.As(err, &answered) || slices.Contains(passing, error(answered))
		if err == nil || !isPassing || time.Now().After(deadline) {
			return err
		}
		time.Sleep(50 * time.Millisecond) // nothing tells when the broker is back
	}
}

func (k *kafkaGo) begin() error {
	k.added = nil
	return nil
}

func (k *kafkaGo) send(topic string, partition int32, value []byte) error {
	at := place{topic, int(partition)}
	if !slices.Contains(k.added, at) {
		if err := k.add(at); err != nil {
			return err
		}
		k.added = append(k.added, at)
	}
	batch := batchOf(k.session.ProducerID, k.session.ProducerEpoch, k.sequences[at], value)
	err := patiently(func() error {
		reply, err := k.client.RawProduce(context.Background(), &kafka.RawProduceRequest{
			Topic: at.topic, Partition: at.partition, RequiredAcks: kafka.RequireAll, TransactionalID: k.id,
			RawRecords: protocol.RawRecordSet{Reader: bytes.NewReader(withSize(batch))},
		})
		if err != nil {
			return err
		}
		return reply.Error
	})
	k.sequences[at]++
	return err
}

func (k *kafkaGo) add(at place) error {
	return patiently(func() error {
		reply, err := k.client.AddPartitionsToTxn(context.Background(), &kafka.AddPartitionsToTxnRequest{
			TransactionalID: k.id, ProducerID: k.session.ProducerID, ProducerEpoch: k.session.ProducerEpoch,
			Topics: map[string][]kafka.AddPartitionToTxn{at.topic: {{Partition: at.partition}}},
		})
		if err != nil {
			return err
		}
		return reply.Topics[at.topic][0].Error
	})
}

func (k *kafkaGo) copy(group, source, target string, count int) error {
	if k.member == nil {
		member, err := joinKafkaGo(k.client.Addr.String(), group, source)
		if err != nil {
			return err
		}
		k.member = member
	}
	for range count {
		m, err := k.member.next()
		if err != nil {
			return err
		}
		if err := k.send(target, int32(m.Partition), m.Value); err != nil {
			return err
		}
	}
	return errors.Join(k.addOffsets(group), k.sendOffsets(source))
}

func (k *kafkaGo) addOffsets(group string) error {
	return patiently(func() error {
		reply, err := k.client.AddOffsetsToTxn(context.Background(), &kafka.AddOffsetsToTxnRequest{
			TransactionalID: k.id, ProducerID: k.session.ProducerID, ProducerEpoch: k.session.ProducerEpoch, GroupID: group,
		})
		if err != nil {
			return err
		}
		return reply.Error
	})
}

func (k *kafkaGo) sendOffsets(topic string) error {
	var offsets []kafka.TxnOffsetCommit
	for partition, next := range k.member.positions {
		offsets = append(offsets, kafka.TxnOffsetCommit{Partition: partition, Offset: next})
	}
	return patiently(func() error {
		reply, err := k.client.TxnOffsetCommit(context.Background(), &kafka.TxnOffsetCommitRequest{
			TransactionalID: k.id, ProducerID: k.session.ProducerID, ProducerEpoch: k.session.ProducerEpoch,
			GroupID: k.member.generation.GroupID, GenerationID: int(k.member.generation.ID),
			MemberID: k.member.generation.MemberID, Topics: map[string][]kafka.TxnOffsetCommit{topic: offsets},
		})
		if err != nil {
			return err
		}
		for _, partition := range reply.Topics[topic] {
			err = errors.Join(err, partition.Error)
		}
		return err
	})
}

func (k *kafkaGo) commit() error { return k.end(true) }

func (k *kafkaGo) abort() error { return errors.Join(k.end(false), k.leave()) }

func (k *kafkaGo) end(committed bool) error {
	return patiently(func() error {
		reply, err := k.client.EndTxn(context.Background(), &kafka.EndTxnRequest{
			TransactionalID: k.id, ProducerID: k.session.ProducerID, ProducerEpoch: k.session.ProducerEpoch,
			Committed: committed,
		})
		if err != nil {
			return err
		}
		return reply.Error
	})
}

func (k *kafkaGo) close() error { return k.leave() }

func (k *kafkaGo) leave() error {
	if k.member == nil {
		return nil
	}
	err := k.member.leave()
	k.member = nil
	return err
}

func isKafkaGoFenced(err error) bool {
	return errors.Is(err, kafka.ProducerFenced) || errors.Is(err, kafka.InvalidProducerEpoch)
}

package main

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

var errNothingSent = errors.New("no record of the transaction was acknowledged")

type producer struct {
	speaker
	client          *kgo.Client
	transactionalID string
	acknowledged    chan struct{} // has an entry once a record of the transaction is
}

func produce(s speaker, words []string, queue <-chan []string) {
	options := settings(words[0], kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if words[1] != "" {
		timeout := time.Duration(number(words[2])) * time.Millisecond
		options = append(options, kgo.TransactionalID(words[1]), kgo.TransactionTimeout(timeout))
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		panic(err)
	}
	p := &producer{s, client, words[1], make(chan struct{}, 1)}
	for words := range queue {
		switch words[0] {
		case "close":
			client.Close() // as a death: a transaction stays open
			return
		case "send":
			p.send(&kgo.Record{Topic: words[1], Partition: int32(number(words[2])), Value: []byte(words[3])})
		default:
			p.answer(words)
		}
	}
}

func (p *producer) answer(words []string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(number(words[1]))*time.Millisecond)
	defer cancel()
	var err error
	switch words[0] {
	case "init":
		_, _, err = p.client.ProducerID(ctx)
	case "begin":
		p.acknowledged = make(chan struct{}, 1)
		err = p.client.BeginTransaction()
	case "flush":
		if err = p.client.Flush(ctx); errors.Is(err, context.DeadlineExceeded) {
			err = nil
		}
	case "offset":
		err = p.sendOffset(ctx, words[2], words[3], int32(number(words[4])), int64(number(words[5])))
	case "commit", "abort":
		err = p.end(ctx, words[0] == "commit")
	}
	done := ""
	if err != nil {
		done = err.Error()
	}
	p.say(map[string]any{"done": done, "again": mayTryAgain(err)})
}

func mayTryAgain(err error) bool {
	return kerr.IsRetriable(err) || errors.Is(err, kerr.ConcurrentTransactions)
}

func (p *producer) send(record *kgo.Record) {
	acknowledged := p.acknowledged
	p.client.Produce(context.Background(), record, func(record *kgo.Record, err error) {
		told := ""
		if err != nil {
			told = err.Error()
		} else {
			select {
			case acknowledged <- struct{}{}:
			default:
			}
		}
		p.say(map[string]any{"sent": string(record.Value), "offset": record.Offset, "error": told})
	})
}

// end: as franz-go's documentation has it, records are flushed before a commit and given up before an abort.
func (p *producer) end(ctx context.Context, commit bool) error {
	if !commit {
		if err := p.client.AbortBufferedRecords(ctx); err != nil {
			return err
		}
	} else if err := p.client.Flush(ctx); err != nil {
		return err
	}
	return p.client.EndTransaction(ctx, kgo.TransactionEndTry(commit))
}

// sendOffset: franz-go commits offsets only for members of a group (GroupTransactSession), so the requests are made here; the
// client finds the coordinators and tries again. A record goes first: without one the client would not end the transaction.
func (p *producer) sendOffset(ctx context.Context, group, topic string, partition int32, offset int64) error {
	if err := p.client.Flush(ctx); err != nil {
		return err
	}
	select {
	case token := <-p.acknowledged:
		p.acknowledged <- token
	default:
		return errNothingSent
	}
	id, epoch, err := p.client.ProducerID(ctx)
	if err != nil {
		return err
	}
	add := kmsg.NewPtrAddOffsetsToTxnRequest()
	add.TransactionalID, add.ProducerID, add.ProducerEpoch, add.Group = p.transactionalID, id, epoch, group
	added, err := add.RequestWith(ctx, p.client)
	if err != nil {
		return err
	}
	if err := kerr.ErrorForCode(added.ErrorCode); err != nil {
		return err
	}
	return p.commitOffset(ctx, add, topic, partition, offset)
}

func (p *producer) commitOffset(
	ctx context.Context, added *kmsg.AddOffsetsToTxnRequest, topic string, partition int32, offset int64,
) error {
	part := kmsg.NewTxnOffsetCommitRequestTopicPartition()
	part.Partition, part.Offset = partition, offset
	known, err := kadm.NewClient(p.client).ListTopics(ctx, topic)
	if err != nil {
		return err
	}
	of := kmsg.NewTxnOffsetCommitRequestTopic()
	of.Topic, of.TopicID, of.Partitions = topic, known[topic].ID, []kmsg.TxnOffsetCommitRequestTopicPartition{part}
	request := kmsg.NewPtrTxnOffsetCommitRequest()
	request.TransactionalID, request.Group = added.TransactionalID, added.Group
	request.ProducerID, request.ProducerEpoch = added.ProducerID, added.ProducerEpoch
	request.Topics = []kmsg.TxnOffsetCommitRequestTopic{of}
	answer, err := request.RequestWith(ctx, p.client)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(answer.Topics[0].Partitions[0].ErrorCode)
}

package main

import (
	"context"
	"errors"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// franzGo is a client alone until the first copy, and from then on a session, in which franz-go couples a member of a
// group with a transactional producer: it sends the offsets when a transaction ends.
type franzGo struct {
	options []kgo.Opt
	client  *kgo.Client
	session *kgo.GroupTransactSession
}

func openFranzGo(address, transactionalID string) (producer, error) {
	options := []kgo.Opt{
		kgo.SeedBrokers(strings.Split(address, ",")...),
		kgo.TransactionalID(transactionalID),
		kgo.AllowAutoTopicCreation(),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		return nil, err
	}
	_, _, err = client.ProducerID(context.Background()) // which initialises the transactions
	return &franzGo{options: options, client: client}, err
}

func (f *franzGo) begin() error {
	if f.session != nil {
		return f.session.Begin()
	}
	return f.client.BeginTransaction()
}

func (f *franzGo) send(topic string, partition int32, value []byte) error {
	record := &kgo.Record{Topic: topic, Partition: partition, Value: value}
	return f.client.ProduceSync(context.Background(), record).FirstErr()
}

func (f *franzGo) copy(group, source, target string, count int) error {
	if f.session == nil {
		if err := f.join(group, source); err != nil {
			return err
		}
	}
	for left := count; left > 0; {
		fetches := f.session.PollRecords(context.Background(), left)
		if err := fetches.Err(); err != nil {
			return err
		}
		for _, record := range fetches.Records() {
			if err := f.send(target, record.Partition, record.Value); err != nil {
				return err
			}
			left--
		}
	}
	return nil
}

// join makes the session, with the transaction that the client alone has begun and not yet used.
func (f *franzGo) join(group, source string) error {
	if err := f.client.EndTransaction(context.Background(), kgo.TryAbort); err != nil {
		return err
	}
	f.client.Close()
	session, err := kgo.NewGroupTransactSession(append(f.options,
		kgo.ConsumerGroup(group),
		kgo.ConsumeTopics(source),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.RequireStableFetchOffsets(),
		kgo.SessionTimeout(sessionTimeout),
		kgo.HeartbeatInterval(sessionTimeout/12),
	)...)
	if err != nil {
		return err
	}
	f.session, f.client = session, session.Client()
	return session.Begin()
}

func (f *franzGo) commit() error { return f.end(kgo.TryCommit) }
func (f *franzGo) abort() error  { return f.end(kgo.TryAbort) }

func (f *franzGo) end(how kgo.TransactionEndTry) error {
	if f.session == nil {
		return f.client.EndTransaction(context.Background(), how)
	}
	committed, err := f.session.End(context.Background(), how)
	if err == nil && committed != bool(how) {
		return errors.New("the session aborted what was to be committed")
	}
	return err
}

func (f *franzGo) close() error {
	f.client.Close()
	return nil
}

func isFranzGoFenced(err error) bool {
	return errors.Is(err, kerr.ProducerFenced) || errors.Is(err, kerr.InvalidProducerEpoch)
}

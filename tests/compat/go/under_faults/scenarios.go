package main

import (
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

var scenarios = map[string]func(*play) error{
	"produce":               produce,
	"produceAlwaysRetryEOF": produceAlwaysRetryEOF,
	"fetch":                 fetch,
	"initProducerId":        initProducerID,
	"transaction":           transaction,
	"joinGroup":             joinGroup,
	"offsetCommit":          offsetCommit,
}

// produce: a producer, idempotent as it is by default, sends a record.
func produce(p *play) error { return send(p) }

// produceAlwaysRetryEOF: so does one that takes no cut connection for a wrong setting of its own.
func produceAlwaysRetryEOF(p *play) error { return send(p, kgo.AlwaysRetryEOF()) }

func send(p *play, more ...kgo.Opt) error {
	client, err := kgo.NewClient(p.settings(more...)...)
	if err != nil {
		return err
	}
	defer client.Close()
	return p.do(func() error { return client.ProduceSync(p.ctx, record()).FirstErr() })
}

// fetch: a consumer without a group reads a partition.
func fetch(p *play) error {
	start := map[string]map[int32]kgo.Offset{"given": {0: kgo.NewOffset().AtStart()}}
	client, err := kgo.NewClient(p.settings(kgo.ConsumePartitions(start))...)
	if err != nil {
		return err
	}
	defer client.Close()
	return p.do(func() error { return client.PollFetches(p.ctx).Err() })
}

// initProducerID: a transactional producer begins, which is when franz-go asks for its id, sends a record and aborts.
func initProducerID(p *play) error {
	client, err := kgo.NewClient(p.settings(transactional()...)...)
	if err != nil {
		return err
	}
	defer client.Close()
	if err := p.do(client.BeginTransaction); err != nil {
		return err
	}
	if err := client.ProduceSync(p.ctx, record()).FirstErr(); err != nil {
		return err
	}
	return client.EndTransaction(p.ctx, kgo.TryAbort)
}

// transaction: what is read from one topic is written to another, in a transaction that commits the offset, too.
func transaction(p *play) error {
	session, err := kgo.NewGroupTransactSession(p.settings(append(transactional(), inGroup("in-transactions")...)...)...)
	if err != nil {
		return err
	}
	defer session.Close()
	return p.do(func() error {
		if err := session.PollFetches(p.ctx).Err(); err != nil {
			return err
		}
		if err := session.Begin(); err != nil {
			return err
		}
		sendErr := session.ProduceSync(p.ctx, record()).FirstErr()
		committed, endErr := session.End(p.ctx, kgo.TransactionEndTry(sendErr == nil))
		if err := errors.Join(sendErr, endErr); err != nil || committed {
			return err
		}
		return errAborted
	})
}

// joinGroup: a member of a group reads a topic. As by default, a rebalance may take longer than a session, and a
// JoinGroup without an answer is noticed when both are over.
func joinGroup(p *play) error {
	short := []kgo.Opt{kgo.SessionTimeout(6 * time.Second), kgo.RebalanceTimeout(7 * time.Second)}
	client, err := kgo.NewClient(p.settings(append(short, inGroup("joining")...)...)...)
	if err != nil {
		return err
	}
	defer client.Close()
	return p.do(func() error { return client.PollFetches(p.ctx).Err() })
}

// offsetCommit: a member of a group reads a topic, and commits how far it has come.
func offsetCommit(p *play) error {
	client, err := kgo.NewClient(p.settings(inGroup("committing")...)...)
	if err != nil {
		return err
	}
	defer client.Close()
	if err := client.PollFetches(p.ctx).Err(); err != nil {
		return err
	}
	return p.do(func() error { return client.CommitUncommittedOffsets(p.ctx) })
}

// settings: an answer that never comes is noticed soon. Everything else is as by default.
func (p *play) settings(more ...kgo.Opt) []kgo.Opt {
	return append(more,
		kgo.SeedBrokers(p.address),
		kgo.RequestTimeoutOverhead(2*time.Second),
		kgo.ProduceRequestTimeout(time.Second),
		kgo.FetchMaxWait(500*time.Millisecond),
	)
}

func transactional() []kgo.Opt {
	return []kgo.Opt{kgo.TransactionalID("tx"), kgo.TransactionTimeout(time.Minute)}
}

func inGroup(group string) []kgo.Opt {
	return []kgo.Opt{kgo.ConsumerGroup(group), kgo.ConsumeTopics("given"), kgo.DisableAutoCommit()}
}

func record() *kgo.Record { return &kgo.Record{Topic: "t", Value: []byte("x")} }

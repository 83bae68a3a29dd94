package main

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

func franzGo(s settings) ([]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	common := []kgo.Opt{kgo.SeedBrokers(s.address), kgo.SASL(s.franzGoMechanism())}
	if config, err := s.tls(); err != nil {
		return nil, err
	} else if config != nil {
		common = append(common, kgo.DialTLSConfig(config))
	}
	producer, err := kgo.NewClient(append(common, kgo.TransactionalID(s.name), kgo.DefaultProduceTopic(s.name),
		kgo.AllowAutoTopicCreation())...)
	if err != nil {
		return nil, err
	}
	defer producer.Close()
	for _, values := range [][]string{committed, aborted} {
		if err := producer.BeginTransaction(); err != nil {
			return nil, err
		}
		for _, value := range values {
			if err := producer.ProduceSync(ctx, kgo.StringRecord(value)).FirstErr(); err != nil {
				return nil, err
			}
		}
		if err := producer.EndTransaction(ctx, kgo.TransactionEndTry(len(values) == len(committed))); err != nil {
			return nil, err
		}
	}
	consumer, err := kgo.NewClient(append(common, kgo.ConsumerGroup(s.name), kgo.ConsumeTopics(s.name),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))...)
	if err != nil {
		return nil, err
	}
	defer consumer.Close()
	var found []string
	for len(found) < len(committed) {
		fetches := consumer.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return nil, err
		}
		for _, record := range fetches.Records() {
			found = append(found, string(record.Value))
		}
	}
	return found, consumer.CommitUncommittedOffsets(ctx)
}

func (s settings) franzGoMechanism() sasl.Mechanism {
	switch s.mechanism {
	case "OAUTHBEARER":
		return oauth.Auth{Token: s.password}.AsMechanism()
	case "SCRAM-SHA-256":
		return scram.Auth{User: s.user, Pass: s.password}.AsSha256Mechanism()
	case "SCRAM-SHA-512":
		return scram.Auth{User: s.user, Pass: s.password}.AsSha512Mechanism()
	}
	return plain.Auth{User: s.user, Pass: s.password}.AsMechanism()
}

package main

import (
	"context"
	"errors"

	"github.com/IBM/sarama"
)

// given provides the token of the settings.
type given string

func (token given) Token() (*sarama.AccessToken, error) {
	return &sarama.AccessToken{Token: string(token)}, nil
}

// saramaClient speaks PLAIN and OAUTHBEARER: sarama leaves the formulas of SCRAM to its user.
func saramaClient(s settings) ([]string, error) {
	tlsConfig, err := s.tls()
	if err != nil {
		return nil, err
	}
	config := sarama.NewConfig()
	config.Net.SASL.Enable = true
	config.Net.SASL.Mechanism = sarama.SASLMechanism(s.mechanism)
	config.Net.SASL.User, config.Net.SASL.Password = s.user, s.password
	config.Net.SASL.TokenProvider = given(s.password)
	config.Net.TLS.Enable, config.Net.TLS.Config = tlsConfig != nil, tlsConfig
	config.Net.MaxOpenRequests = 1
	config.Producer.Transaction.ID = s.name
	config.Producer.Idempotent = true
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Return.Successes = true
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.IsolationLevel = sarama.ReadCommitted
	if err := saramaWrite(s, config); err != nil {
		return nil, err
	}
	return saramaRead(s, config)
}

func saramaWrite(s settings, config *sarama.Config) error {
	producer, err := sarama.NewSyncProducer([]string{s.address}, config)
	if err != nil {
		return err
	}
	defer producer.Close()
	for _, values := range [][]string{committed, aborted} {
		if err := producer.BeginTxn(); err != nil {
			return err
		}
		for _, value := range values {
			message := &sarama.ProducerMessage{Topic: s.name, Value: sarama.StringEncoder(value)}
			if _, _, err := producer.SendMessage(message); err != nil {
				return err
			}
		}
		end := producer.AbortTxn
		if len(values) == len(committed) {
			end = producer.CommitTxn
		}
		if err := end(); err != nil {
			return err
		}
	}
	return nil
}

func saramaRead(s settings, config *sarama.Config) ([]string, error) {
	group, err := sarama.NewConsumerGroup([]string{s.address}, s.name, config)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	member := &saramaMember{stop: stop}
	err = group.Consume(ctx, []string{s.name}, member)
	return member.found, errors.Join(err, group.Close())
}

// saramaMember leaves when it has read what was committed.
type saramaMember struct {
	stop  func()
	found []string
}

func (*saramaMember) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (*saramaMember) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (member *saramaMember) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for message := range claim.Messages() {
		member.found = append(member.found, string(message.Value))
		session.MarkMessage(message, "")
		if len(member.found) == len(committed) {
			member.stop()
			return nil
		}
	}
	return nil
}

package main

import (
	"context"
	"errors"
	"log"
	"strconv"
	"time"

	"github.com/IBM/sarama"
)

// A saramaMember commits as it reads, and what is left when its session ends. Sarama does not say which commits were
// acknowledged, so it tells of none.
type saramaMember struct {
	membership
	id string // of its last session
}

func liveSarama(ctx context.Context, m membership) error {
	config := sarama.NewConfig()
	config.Version = sarama.V2_6_0_0 // the first that knows static members and what came with them
	config.Consumer.Group.Session.Timeout = m.session
	config.Consumer.Group.Heartbeat.Interval = m.heartbeat
	config.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{sarama.NewBalanceStrategyRange()}
	config.Consumer.Group.Rebalance.Retry.Backoff = 200 * time.Millisecond
	config.Consumer.Group.InstanceId = m.instance
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Enable = false
	config.Consumer.Return.Errors = true
	group, err := newSaramaGroup(ctx, m, config)
	if err != nil || group == nil {
		return err
	}
	go func() {
		for err := range group.Errors() { // of brokers that are away: it goes on by itself
			log.Print(err)
		}
	}()
	member := &saramaMember{membership: m}
	for ctx.Err() == nil { // Consume returns at each rebalance, and where it does not get on for a while
		if err := group.Consume(ctx, []string{m.topic}, member); err != nil {
			log.Print(err)
		}
	}
	if err := group.Close(); err != nil { // the coordinator moved: it is gone when its session ends
		log.Print(err)
	}
	return nil
}

// newSaramaGroup asks again until a broker answers: Sarama gives up at once where none does. nil: it was told to leave.
func newSaramaGroup(ctx context.Context, m membership, config *sarama.Config) (sarama.ConsumerGroup, error) {
	for ctx.Err() == nil {
		group, err := sarama.NewConsumerGroup(m.addresses, m.topic, config)
		if !errors.Is(err, sarama.ErrOutOfBrokers) {
			return group, err
		}
	}
	return nil, nil
}

func (m *saramaMember) Setup(session sarama.ConsumerGroupSession) error {
	if m.id != "" && m.id != session.MemberID() {
		m.tell("out", "") // the group went on without it, and it has come back as another
	}
	m.id = session.MemberID()
	m.tell("given", strconv.Itoa(int(session.GenerationID())), joined(session.Claims()[m.topic]))
	return nil
}

func (m *saramaMember) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	turns := time.NewTicker(commitEvery * 50 * time.Millisecond)
	defer turns.Stop()
	for {
		select {
		case r, open := <-claim.Messages():
			if !open {
				return nil
			}
			m.tell("read", strconv.Itoa(int(r.Partition)), strconv.FormatInt(r.Offset, 10))
			session.MarkMessage(r, "")
		case <-turns.C:
			session.Commit()
		case <-session.Context().Done():
			return nil
		}
	}
}

func (m *saramaMember) Cleanup(session sarama.ConsumerGroupSession) error {
	session.Commit()
	m.tell("taken", joined(session.Claims()[m.topic]))
	return nil
}

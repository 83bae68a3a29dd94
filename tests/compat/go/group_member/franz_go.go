package main

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A franzMember commits what it has read every few turns, and what is left when partitions are taken from it.
type franzMember struct {
	membership
	mutex sync.Mutex      // held and next are used by the loop and by franz-go's callbacks
	held  map[int32]bool  // partitions that it was given
	next  map[int32]int64 // those that it has read from: the offset behind the last record
}

func liveFranzGo(ctx context.Context, m membership) error {
	member := &franzMember{membership: m, held: map[int32]bool{}, next: map[int32]int64{}}
	options := []kgo.Opt{
		kgo.SeedBrokers(m.addresses...),
		kgo.ConsumerGroup(m.topic),
		kgo.ConsumeTopics(m.topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.DisableAutoCommit(),
		kgo.BlockRebalanceOnPoll(), // so that what was read is told before its partition is given back
		kgo.FetchMaxWait(200 * time.Millisecond),
		kgo.OnPartitionsAssigned(member.given),
		kgo.OnPartitionsRevoked(member.taken),
		kgo.OnPartitionsLost(member.lost),
	}
	switch m.kind {
	case "consumer":
		options = append(options, kgo.ServerSideBalancer(), kgo.Balancers(kgo.RangeBalancer()))
	case "cooperative":
		options = append(options, kgo.Balancers(kgo.CooperativeStickyBalancer()))
	default:
		options = append(options, kgo.Balancers(kgo.RangeBalancer()))
	}
	if m.kind != "consumer" {
		options = append(options, kgo.SessionTimeout(m.session), kgo.HeartbeatInterval(m.heartbeat))
	}
	if m.instance != "" {
		options = append(options, kgo.InstanceID(m.instance))
	}
	consumer, err := kgo.NewClient(options...)
	if err != nil {
		return err
	}
	defer consumer.CloseAllowingRebalance()
	for turn := 1; ctx.Err() == nil; turn++ {
		member.poll(ctx, consumer)
		if turn%commitEvery == 0 {
			member.commit(consumer, nil)
		}
		consumer.AllowRebalance()
	}
	member.stop()
	return nil
}

// stop tells that it reads nothing any more: no callback has the partitions that a rebalance takes during the close.
func (m *franzMember) stop() {
	m.mutex.Lock()
	held := slices.Collect(maps.Keys(m.held))
	m.mutex.Unlock()
	m.tell("taken", joined(held))
}

func (m *franzMember) poll(ctx context.Context, consumer *kgo.Client) {
	soon, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	// Its errors are of brokers that are away, and of the time that is up: it goes on by itself.
	consumer.PollFetches(soon).EachRecord(func(r *kgo.Record) {
		m.tell("read", strconv.Itoa(int(r.Partition)), strconv.FormatInt(r.Offset, 10))
		m.mutex.Lock()
		defer m.mutex.Unlock()
		m.next[r.Partition] = r.Offset + 1
	})
}

// commit commits what was read of `partitions`, or of all if they are nil.
func (m *franzMember) commit(consumer *kgo.Client, partitions []int32) {
	m.mutex.Lock()
	if partitions == nil {
		for partition := range m.next {
			partitions = append(partitions, partition)
		}
	}
	offsets := map[int32]kgo.EpochOffset{}
	for _, partition := range partitions {
		if offset, ok := m.next[partition]; ok {
			offsets[partition] = kgo.EpochOffset{Epoch: -1, Offset: offset}
		}
	}
	m.mutex.Unlock()
	if len(offsets) == 0 {
		return
	}
	limited, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	wanted := map[string]map[int32]kgo.EpochOffset{m.topic: offsets}
	consumer.CommitOffsetsSync(limited, wanted,
		func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, answer *kmsg.OffsetCommitResponse, err error) {
			if err == nil {
				m.answered(offsets, answer)
			}
		})
}

func (m *franzMember) answered(offsets map[int32]kgo.EpochOffset, answer *kmsg.OffsetCommitResponse) {
	var positions []string
	for _, topic := range answer.Topics {
		for _, partition := range topic.Partitions {
			switch kerr.ErrorForCode(partition.ErrorCode) {
			case nil:
				positions = append(positions, position(partition.Partition, offsets[partition.Partition].Offset))
			case kerr.UnknownMemberID, kerr.FencedMemberEpoch, kerr.FencedInstanceID:
				m.tell("out", "")
			}
		}
	}
	if len(positions) > 0 {
		m.tell("committed", strings.Join(positions, ","))
	}
}

func (m *franzMember) given(_ context.Context, consumer *kgo.Client, partitions map[string][]int32) {
	_, generation := consumer.GroupMetadata()
	m.mutex.Lock()
	for _, number := range partitions[m.topic] {
		m.held[number] = true
	}
	m.mutex.Unlock()
	m.tell("given", strconv.Itoa(int(generation)), joined(partitions[m.topic]))
}

func (m *franzMember) taken(_ context.Context, consumer *kgo.Client, partitions map[string][]int32) {
	if numbers := partitions[m.topic]; len(numbers) > 0 {
		m.commit(consumer, numbers)
		m.take("taken", numbers)
	}
}

func (m *franzMember) lost(_ context.Context, _ *kgo.Client, partitions map[string][]int32) {
	m.take("lost", partitions[m.topic])
}

func (m *franzMember) take(how string, numbers []int32) {
	m.mutex.Lock()
	for _, number := range numbers {
		delete(m.held, number)
		delete(m.next, number)
	}
	m.mutex.Unlock()
	m.tell(how, joined(numbers))
}

#!/bin/sh
# franz-go tells no callback of partitions that the group takes back while the client is being closed.
#
# Software: franz-go v1.22.3, and its kfake v0.0.0-20260918054303-01f206a7e32c as the broker; Go 1.26 or later.
# Expected: a consumer of a KIP-848 group that is closed gets each partition that it holds in OnPartitionsRevoked, so
#   that the application commits it and frees what it keeps for it; or in OnPartitionsLost.
# Seen: a heartbeat takes two of four partitions back. franz-go first calls OnPartitionsRevoked without a partition,
#   and would name the two in the next session. If the client is closed before that call has returned, the last call
#   names only the two that it would have kept. The other two are in no call, so nothing is committed for them.
#   A client that is closed after the rebalance is told of all four.
set -eu
folder=$(mktemp -d)
trap 'test $? -eq 0 || cat "$folder/log"; rm -rf "$folder"' EXIT
cd "$folder"
cat > main.go <<'GO'
package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// member is a consumer that knows from its callbacks what it holds.
type member struct {
	*kgo.Client
	mutex sync.Mutex
	held  map[int32]bool
}

func (m *member) given(_ context.Context, _ *kgo.Client, partitions map[string][]int32) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	for _, each := range partitions["topic"] {
		m.held[each] = true
	}
}

func (m *member) ended(_ context.Context, _ *kgo.Client, partitions map[string][]int32) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	for _, each := range partitions["topic"] {
		delete(m.held, each)
	}
}

func (m *member) holds() []int32 {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return slices.Sorted(maps.Keys(m.held))
}

// join adds a member to the group; revoking is called first in each call of OnPartitionsRevoked.
func join(broker string, revoking func()) *member {
	m := &member{held: map[int32]bool{}}
	client, err := kgo.NewClient(
		kgo.SeedBrokers(broker), kgo.ConsumerGroup("group"), kgo.ConsumeTopics("topic"),
		kgo.ServerSideBalancer(), kgo.Balancers(kgo.RangeBalancer()), kgo.DisableAutoCommit(),
		kgo.OnPartitionsAssigned(m.given), kgo.OnPartitionsLost(m.ended),
		kgo.OnPartitionsRevoked(func(ctx context.Context, client *kgo.Client, partitions map[string][]int32) {
			revoking()
			m.ended(ctx, client, partitions)
		}),
	)
	if err != nil {
		panic(err)
	}
	m.Client = client
	return m
}

// left is what a member holds by its callbacks after it was closed: once it shared with another one, or meanwhile.
func left(closesMeanwhile bool) []int32 {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(4, "topic"),
		kfake.BrokerConfigs(map[string]string{"group.consumer.heartbeat.interval.ms": "500"}))
	if err != nil {
		panic(err)
	}
	defer cluster.Close()
	revoking, once := make(chan struct{}), sync.Once{}
	first := join(cluster.ListenAddrs()[0], func() {
		once.Do(func() {
			close(revoking)
			if closesMeanwhile {
				time.Sleep(2 * time.Second) // as a commit would take
			}
		})
	})
	wait := func(what string, holds func() bool) {
		for end := time.Now().Add(time.Minute); !holds(); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				panic(what)
			}
		}
	}
	wait("no assignment", func() bool { return len(first.holds()) == 4 })
	second := join(cluster.ListenAddrs()[0], func() {})
	defer second.Close()
	<-revoking
	if !closesMeanwhile {
		wait("nothing was revoked", func() bool { return len(first.holds()) == 2 })
	}
	first.Close()
	return first.holds()
}

func main() {
	after, meanwhile := left(false), left(true)
	fmt.Printf("franz-go v1.22.3, closed after a rebalance: still holds %v; in one: still holds %v\n", after, meanwhile)
	if len(after) != 0 || len(meanwhile) != 2 {
		fmt.Println("the behaviour has changed")
		os.Exit(1)
	}
}
GO
go mod init finding 2>log
go get github.com/twmb/franz-go@v1.22.3 github.com/twmb/franz-go/pkg/kfake@v0.0.0-20260918054303-01f206a7e32c 2>>log
go run .

package main

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// read tells of each Fetch by itself: what came in one is of one moment.
func read(s speaker, words []string, queue <-chan []string) {
	isolation := kgo.ReadUncommitted()
	if words[1] == "read_committed" {
		isolation = kgo.ReadCommitted()
	}
	start := map[int32]kgo.Offset{}
	for partition := range number(words[3]) {
		start[int32(partition)] = kgo.NewOffset().AtStart()
	}
	client, err := kgo.NewClient(settings(words[0],
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{words[2]: start}),
		kgo.FetchIsolationLevel(isolation),
		kgo.FetchMaxWait(50*time.Millisecond),
	)...)
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-queue // close
		cancel()
	}()
	for ctx.Err() == nil {
		for _, fetch := range client.PollFetches(ctx) {
			show(s, fetch)
		}
	}
	client.Close()
}

func show(s speaker, fetch kgo.Fetch) {
	shown := []map[string]any{}
	for _, topic := range fetch.Topics {
		for _, partition := range topic.Partitions {
			if partition.Err != nil {
				continue // the broker is away, or it is over
			}
			records := [][2]any{}
			for _, record := range partition.Records {
				records = append(records, [2]any{record.Offset, string(record.Value)})
			}
			shown = append(shown, map[string]any{
				"topic": topic.Topic, "partition": partition.Partition, "records": records,
				"stable": partition.LastStableOffset, "high": partition.HighWatermark,
			})
		}
	}
	if len(shown) > 0 {
		s.say(map[string]any{"shown": shown})
	}
}

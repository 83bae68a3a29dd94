#!/bin/sh
# kafka-go writes the timestamp of a batch's last message into its header as the largest one, even if it is not.
#
# Software: kafka-go v0.4.51 (Conn.WriteMessages); franz-go's kfake v0.0.0-20260918054303-01f206a7e32c as the broker, and
#   its kmsg v1.15.0 to read the batch; Go 1.26 or later.
# Expected: maxTimestamp of a record batch is the maximum of its records' (the format of v2 batches). Messages of an
#   upstream clock are often out of order; a broker that believes the header does not find the younger records by time,
#   and deletes them too soon.
# Seen: messages at 3000, 1000 and 2000 ms; the header has first 3000, largest 2000.
set -eu
folder=$(mktemp -d)
trap 'test $? -eq 0 || cat "$folder/log"; rm -rf "$folder"' EXIT
cd "$folder"
cat > main.go <<'GO'
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "topic"))
	must(err)
	defer cluster.Close()
	var batch kmsg.RecordBatch
	cluster.ControlKey(int16(kmsg.Produce), func(request kmsg.Request) (kmsg.Response, error, bool) {
		return nil, batch.ReadFrom(request.(*kmsg.ProduceRequest).Topics[0].Partitions[0].Records), false
	})
	conn, err := kafka.DialLeader(context.Background(), "tcp", cluster.ListenAddrs()[0], "topic", 0)
	must(err)
	var messages []kafka.Message
	for _, ms := range []int64{3000, 1000, 2000} {
		messages = append(messages, kafka.Message{Value: []byte("value"), Time: time.UnixMilli(ms)})
	}
	_, err = conn.WriteMessages(messages...)
	must(err)
	fmt.Printf("kafka-go v0.4.51: %d records, first timestamp %d, largest %d\n", batch.NumRecords, batch.FirstTimestamp, batch.MaxTimestamp)
	if batch.NumRecords != 3 || batch.FirstTimestamp != 3000 || batch.MaxTimestamp != 2000 {
		fmt.Println("the behaviour has changed")
		os.Exit(1)
	}
}
GO
go mod init finding 2>log
go get github.com/segmentio/kafka-go@v0.4.51 github.com/twmb/franz-go@v1.22.2 github.com/twmb/franz-go/pkg/kmsg@v1.15.0 \
	github.com/twmb/franz-go/pkg/kfake@v0.0.0-20260918054303-01f206a7e32c 2>>log
go run .

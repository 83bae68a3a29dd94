#!/bin/sh
# franz-go abandons a record when one connection, that for InitProducerId, is closed before its first answer.
#
# Software: franz-go v1.22.2, and its kfake v0.0.0-20260918054303-01f206a7e32c as the broker; Go 1.26 or later.
# Expected: a producer with the default settings retries a record without a limit (RecordRetries), so that a broker
#   or proxy that restarts costs time and no record. A closed connection is retried when it carries metadata (the
#   first) or the record itself (the third), but the second makes ProduceSync fail for good, and blames TLS. With
#   kgo.AlwaysRetryEOF() all three continue.
# Seen: closed connection 1: <nil>; 2: unable to initialize a producer ID … is TLS missing?; 3: <nil>.
set -eu
folder=$(mktemp -d)
trap 'test $? -eq 0 || cat "$folder/log"; rm -rf "$folder"' EXIT
cd "$folder"
cat > main.go <<'GO'
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// closed is a connection that the other side closes instead of answering.
type closed struct{ net.Conn }

func (c closed) Read([]byte) (int, error) {
	c.Conn.Close()
	return 0, io.EOF
}

// produce writes a record over connections of which one is closed; the first is number 1.
func produce(broker string, number int64, options ...kgo.Opt) error {
	var dialed atomic.Int64
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		connection, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err == nil && dialed.Add(1) == number {
			return closed{connection}, nil
		}
		return connection, err
	}
	options = append(options, kgo.SeedBrokers(broker), kgo.Dialer(dial), kgo.DefaultProduceTopic("topic"))
	client, err := kgo.NewClient(options...)
	if err != nil {
		panic(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	return client.ProduceSync(ctx, kgo.StringRecord("a record")).FirstErr()
}

func main() {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "topic"))
	if err != nil {
		panic(err)
	}
	defer cluster.Close()
	asSeen := true
	for number := int64(1); number <= 3; number++ {
		failed := produce(cluster.ListenAddrs()[0], number)
		retried := produce(cluster.ListenAddrs()[0], number, kgo.AlwaysRetryEOF())
		fmt.Printf("franz-go v1.22.2, connection %d closed: %v; with AlwaysRetryEOF: %v\n", number, failed, retried)
		var firstRead *kgo.ErrFirstReadEOF
		asSeen = asSeen && retried == nil && errors.As(failed, &firstRead) == (number == 2) && (failed == nil) == (number != 2)
	}
	if !asSeen {
		fmt.Println("the behaviour has changed")
		os.Exit(1)
	}
}
GO
go mod init finding 2>log
go get github.com/twmb/franz-go@v1.22.2 github.com/twmb/franz-go/pkg/kfake@v0.0.0-20260918054303-01f206a7e32c 2>>log
go run .

#!/bin/sh
# rskafka fails to read any fetch with a transaction marker: it takes the length of the record for the marker's version.
#
# Software: rskafka 0.6.0; franz-go v1.22.3 as the producer, and its kfake v0.0.0-20260918054303-01f206a7e32c as the
#   broker; Rust 1.85 and Go 1.26 or later.
# Expected: a consumer that knows no transactions skips the markers, or gives them as records, as it does with offsets
#   that compaction removed. A topic with a plain record and a committed one can be read.
# Seen: the record is read from a topic that has no transaction. Where a commit marker follows a record, the fetch
#   fails with "Unknown control batch record version: 8192" and gives no record at all: 8192 is 0x2000, of which 0x20
#   is the length of the marker's record (16, as a zigzag varint) in front of its attributes.
set -eu
folder=$(mktemp -d)
trap 'test $? -eq 0 || cat "$folder/log"; rm -rf "$folder"' EXIT
cd "$folder"
mkdir broker program program/src
cat > broker/main.go <<'GO'
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "plain", "committed"))
	must(err)
	ctx, address := context.Background(), cluster.ListenAddrs()[0]
	plain, err := kgo.NewClient(kgo.SeedBrokers(address))
	must(err)
	must(plain.ProduceSync(ctx, &kgo.Record{Topic: "plain", Value: []byte("a record")}).FirstErr())
	plain.Close()
	producer, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.TransactionalID("producer"))
	must(err)
	must(producer.BeginTransaction())
	must(producer.ProduceSync(ctx, &kgo.Record{Topic: "committed", Value: []byte("a record")}).FirstErr())
	must(producer.EndTransaction(ctx, kgo.TryCommit))
	producer.Close()
	fmt.Println(address)
	io.Copy(io.Discard, os.Stdin) // until it is closed
}
GO
cat > program/Cargo.toml <<'TOML'
[package]
name = "finding"
version = "0.0.0"
edition = "2021"

[dependencies]
rskafka = "=0.6.0"
tokio = { version = "1", features = ["macros", "rt-multi-thread", "io-util"] }
TOML
cat > program/src/main.rs <<'RUST'
use std::{
    io::{BufRead, BufReader},
    process::{exit, Command, Stdio},
};

use rskafka::client::{partition::UnknownTopicHandling, Client, ClientBuilder};

async fn read(client: &Client, topic: &str) -> Result<usize, String> {
    let partition = client.partition_client(topic, 0, UnknownTopicHandling::Retry).await.unwrap();
    let fetched = partition.fetch_records(0, 1..1_000_000, 1_000).await;
    fetched.map(|(records, _)| records.len()).map_err(|error| error.to_string())
}

#[tokio::main]
async fn main() {
    let mut broker = Command::new("../broker/broker")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut address = String::new();
    BufReader::new(broker.stdout.take().unwrap()).read_line(&mut address).unwrap();
    let client = ClientBuilder::new(vec![address.trim().to_string()]).build().await.unwrap();
    let (plain, committed) = (read(&client, "plain").await, read(&client, "committed").await);
    broker.kill().unwrap();
    broker.wait().unwrap();
    println!("rskafka 0.6.0: records without a transaction: {plain:?}; with a commit marker: {committed:?}");
    let error = committed.err().unwrap_or_default();
    if plain != Ok(1) || !error.contains("Unknown control batch record version: 8192") {
        println!("the behaviour has changed");
        exit(1);
    }
}
RUST
cd broker
go mod init broker 2>log
go get github.com/twmb/franz-go@v1.22.3 github.com/twmb/franz-go/pkg/kfake@v0.0.0-20260918054303-01f206a7e32c 2>>log
go build -o broker .
cd ../program
cargo run --quiet

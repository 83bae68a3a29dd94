#!/bin/sh
# Rust's kafka-protocol writes a batch of its own for each record that has no sequence, which Kafka refuses.
#
# Software: kafka-protocol 0.18.0 with bytes 1; Rust 1.85 or later.
# Expected: RecordBatchEncoder makes one batch of records that differ only in what a batch keeps for each of them. A
#   producer that is not idempotent has no sequences: the constants of the library for that are NO_PRODUCER_ID,
#   NO_PRODUCER_EPOCH and NO_SEQUENCE, which is -1 for each record, as a batch of Java's producer has it. A produce
#   request with more than one batch for a partition is refused as a whole (INVALID_RECORD).
# Seen: three records with offsets 0, 1, 2 and NO_SEQUENCE become three batches, without an error: a record joins a
#   batch only if its sequence grows as its offset does. One record, as in a first test, is written well. With sequences
#   0, 1, 2, which no one counts, three are one batch.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
mkdir src
cat > Cargo.toml <<'TOML'
[package]
name = "finding"
version = "0.0.0"
edition = "2021"

[dependencies]
bytes = "1"
kafka-protocol = { version = "=0.18.0", default-features = false }
TOML
cat > src/main.rs <<'RUST'
use bytes::{Bytes, BytesMut};
use kafka_protocol::indexmap::IndexMap;
use kafka_protocol::records::{
    Compression, Record, RecordBatchDecoder, RecordBatchEncoder, RecordEncodeOptions, TimestampType,
    NO_PARTITION_LEADER_EPOCH, NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE,
};

fn record(offset: i64, sequence: i32) -> Record {
    Record {
        transactional: false,
        control: false,
        delete_horizon: false,
        partition_leader_epoch: NO_PARTITION_LEADER_EPOCH,
        producer_id: NO_PRODUCER_ID,
        producer_epoch: NO_PRODUCER_EPOCH,
        timestamp_type: TimestampType::Creation,
        offset,
        sequence,
        timestamp: 1000,
        key: None,
        value: Some(Bytes::from_static(b"value")),
        headers: IndexMap::new(),
    }
}

/// The number of records in each batch that the encoder makes.
fn batches(records: &[Record]) -> Vec<i32> {
    let options = RecordEncodeOptions { version: 2, compression: Compression::None };
    let mut written = BytesMut::new();
    RecordBatchEncoder::encode(&mut written, records, &options).unwrap();
    let found = RecordBatchDecoder::decode_batch_info(&mut written.freeze()).unwrap();
    found.iter().map(|batch| batch.record_count).collect()
}

fn main() {
    let one = batches(&[record(0, NO_SEQUENCE)]);
    let without = batches(&[record(0, NO_SEQUENCE), record(1, NO_SEQUENCE), record(2, NO_SEQUENCE)]);
    let with = batches(&[record(0, 0), record(1, 1), record(2, 2)]);
    println!("kafka-protocol 0.18.0, records in each batch: of one {one:?}; of three with NO_SEQUENCE {without:?},");
    println!("of three with sequences {with:?}");
    if one != [1] || without != [1, 1, 1] || with != [3] {
        println!("the behaviour has changed");
        std::process::exit(1);
    }
}
RUST
cargo run --quiet

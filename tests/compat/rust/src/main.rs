//! rdkafka, which is librdkafka behind Rust: one thing a run, as tests/compat/test_librdkafka.py asks for it.
//!
//!     write ADDRESS TOPIC COMPRESSION COUNT    write "0", "1", … and wait for all acknowledgements
//!     group ADDRESS TOPIC GROUP COUNT          print COUNT values, read as a member of the group, and commit

use std::error::Error;
use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer};
use rdkafka::message::{DeliveryResult, Message};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer, ProducerContext};

type Outcome = Result<(), Box<dyn Error>>;

/// Ends the program when a message could not be delivered.
struct Deliveries;

impl rdkafka::ClientContext for Deliveries {}

impl ProducerContext for Deliveries {
    type DeliveryOpaque = ();

    fn delivery(&self, result: &DeliveryResult<'_>, _: ()) {
        if let Err((problem, _)) = result {
            panic!("not delivered: {problem}");
        }
    }
}

fn main() -> Outcome {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [command, address, topic, how, count] = words.as_slice() else {
        return Err("five words, please".into());
    };
    match command.as_str() {
        "write" => write(address, topic, how, count.parse()?),
        _ => read(address, topic, how, count.parse()?),
    }
}

fn write(address: &str, topic: &str, compression: &str, count: usize) -> Outcome {
    let producer: BaseProducer<Deliveries> = ClientConfig::new()
        .set("bootstrap.servers", address)
        .set("compression.type", compression)
        .create_with_context(Deliveries)?;
    for number in 0..count {
        let value = number.to_string();
        let record = BaseRecord::<(), String>::to(topic).payload(&value);
        producer.send(record).map_err(|(problem, _)| problem)?;
    }
    producer.flush(Duration::from_secs(60))?;
    Ok(())
}

fn read(address: &str, topic: &str, group: &str, count: usize) -> Outcome {
    let consumer: BaseConsumer = ClientConfig::new()
        .set("bootstrap.servers", address)
        .set("group.id", group)
        .set("auto.offset.reset", "earliest")
        .set("enable.auto.commit", "false")
        .create()?;
    consumer.subscribe(&[topic])?;
    for message in consumer.iter().take(count) {
        println!("{}", String::from_utf8_lossy(message?.payload().unwrap_or_default()));
    }
    consumer.commit_consumer_state(CommitMode::Sync)?;
    Ok(())
}

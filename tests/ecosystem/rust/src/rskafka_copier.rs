//! rskafka_copier ADDRESS SOURCE TARGET GROUP DIRECTORY: copies each partition of a topic into the same of another.
//! rskafka has no groups: the offsets are those of the streams, as long as the process runs.

use std::{env, sync::Arc};

use futures::{future::join_all, StreamExt};
use rskafka::client::{
    consumer::{StartOffset, StreamConsumerBuilder},
    partition::{Compression, UnknownTopicHandling},
    Client, ClientBuilder,
};

const MAX_BATCH_BYTES: i32 = 1000;

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = env::args().collect();
    let [_, address, source, target, ..] = &arguments[..] else {
        panic!("ADDRESS SOURCE TARGET GROUP DIRECTORY");
    };
    let client = ClientBuilder::new(vec![address.clone()]).build().await.unwrap();
    let topics = client.list_topics().await.unwrap();
    let topic = topics.iter().find(|topic| topic.name == *source).unwrap();
    join_all(topic.partitions.iter().map(|number| copy(&client, source, target, *number))).await;
}

async fn copy(client: &Client, source: &str, target: &str, number: i32) {
    let from = client.partition_client(source, number, UnknownTopicHandling::Retry).await.unwrap();
    let to = client.partition_client(target, number, UnknownTopicHandling::Retry).await.unwrap();
    let mut records = StreamConsumerBuilder::new(Arc::new(from), StartOffset::Earliest)
        .with_max_batch_size(MAX_BATCH_BYTES)
        .build();
    while let Some(read) = records.next().await {
        let (record, _) = read.unwrap();
        to.produce(vec![record.record], Compression::NoCompression).await.unwrap();
    }
}

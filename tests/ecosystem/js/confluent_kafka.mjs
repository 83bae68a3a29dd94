/** Copies a topic into another with Confluent's client for JavaScript: ADDRESS SOURCE TARGET GROUP DIRECTORY. */

import client from "@confluentinc/kafka-javascript";

const [address, source, target, group] = process.argv.slice(2);
const kafka = new client.KafkaJS.Kafka({ kafkaJS: { brokers: [address] } });
const producer = kafka.producer();
const consumer = kafka.consumer({ kafkaJS: { groupId: group, fromBeginning: true } });
process.on("SIGTERM", async () => {
  await consumer.disconnect();
  await producer.disconnect();
});

await producer.connect();
await consumer.connect();
await consumer.subscribe({ topics: [source] });
await consumer.run({
  eachMessage: async ({ message: { key, value } }) => {
    await producer.send({ topic: target, messages: [{ key, value }] });
  },
});

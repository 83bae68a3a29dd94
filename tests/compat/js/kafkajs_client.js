// kafkajs as a servant: one line of JSON on stdin is a command, lines of JSON on stdout answer it, and "." ends an answer.
// Bytes are base64, null is null.
//
//   {"do": "write", address, topic, compression, idempotent, messages: [{partition, key, value, headers, timestamp}]}
//   {"do": "read", address, topic, group, count}      a member of the group from the beginning on, committed at the end
import { createInterface } from "node:readline";
import { CompressionTypes, Kafka, Partitioners, logLevel } from "kafkajs";

const COMPRESSIONS = { none: CompressionTypes.None, gzip: CompressionTypes.GZIP };
const encode = (bytes) => (bytes == null ? null : Buffer.from(bytes).toString("base64"));
const decode = (text) => (text == null ? null : Buffer.from(text, "base64"));
const print = (value) => process.stdout.write(JSON.stringify(value) + "\n");
const kafka = (address) => new Kafka({ brokers: [address], logLevel: logLevel.ERROR });

async function write({ address, topic, compression, idempotent, messages }) {
  const settings = { createPartitioner: Partitioners.DefaultPartitioner };
  const producer = kafka(address).producer(idempotent ? { ...settings, idempotent: true } : settings);
  await producer.connect();
  const sent = await producer.send({
    topic,
    compression: COMPRESSIONS[compression],
    messages: messages.map(({ partition, key, value, headers, timestamp }) => ({
      partition,
      key: decode(key),
      value: decode(value),
      headers: Object.fromEntries(headers.map(([name, data]) => [name, decode(data)])),
      timestamp: timestamp == null ? undefined : String(timestamp),
    })),
  });
  await producer.disconnect();
  for (const { partition, baseOffset } of sent) print([partition, Number(baseOffset)]);
}

async function read({ address, topic, group, count }) {
  const consumer = kafka(address).consumer({ groupId: group, maxWaitTimeInMs: 200 });
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  let found = 0;
  await new Promise((done, failed) => {
    consumer.on(consumer.events.CRASH, ({ payload }) => failed(payload.error));
    const eachMessage = async ({ partition, message: { offset, timestamp, key, value, headers } }) => {
      const pairs = Object.entries(headers ?? {}).flatMap(([name, data]) => [data].flat().map((one) => [name, encode(one)]));
      print([partition, Number(offset), Number(timestamp), encode(key), encode(value), pairs]);
      if (++found === count) done();
    };
    consumer.run({ eachMessage }).catch(failed);
  });
  await consumer.disconnect(); // commits
}

for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  await (command.do === "write" ? write(command) : read(command));
  process.stdout.write(".\n");
}

/** kafkajs over a secured listener, as tests/compat/secured/story.py says. */

import { readFileSync } from "node:fs";

import kafkajs from "kafkajs";

const { Kafka, logLevel } = kafkajs;
const COMMITTED = ["one", "two", "three"];

function login(mechanism, username, password) {
  if (mechanism === "OAUTHBEARER") {
    return { mechanism: "oauthbearer", oauthBearerProvider: async () => ({ value: password }) };
  }
  return { mechanism: mechanism.toLowerCase(), username, password };
}

async function run([address, protocol, mechanism, username, password, authority, name]) {
  const kafka = new Kafka({
    brokers: [address],
    logLevel: logLevel.NOTHING,
    ssl: authority ? { ca: readFileSync(authority) } : false,
    sasl: login(mechanism, username, password),
    retry: { retries: 3 },
  });
  const producer = kafka.producer({ transactionalId: name, idempotent: true, maxInFlightRequests: 1 });
  await producer.connect();
  const kept = await producer.transaction();
  await kept.send({ topic: name, messages: COMMITTED.map((value) => ({ value })) });
  await kept.commit();
  const dropped = await producer.transaction();
  await dropped.send({ topic: name, messages: [{ value: "nothing" }] });
  await dropped.abort();
  await producer.disconnect();

  const consumer = kafka.consumer({ groupId: name, readUncommitted: false });
  await consumer.connect();
  await consumer.subscribe({ topic: name, fromBeginning: true });
  const found = [];
  await new Promise((done, failed) => {
    consumer.on(consumer.events.CRASH, ({ payload }) => failed(payload.error));
    consumer.run({
      eachMessage: async ({ message }) => {
        found.push(message.value.toString());
        if (found.length === COMMITTED.length) done();
      },
    });
  });
  await consumer.disconnect();
  return found;
}

try {
  console.log((await run(process.argv.slice(2))).join("\n"));
} catch (error) {
  console.error(`${error.name}: ${error.message}`);
  process.exit(1);
}

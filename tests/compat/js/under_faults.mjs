/**
 * What kafkajs does when a fault meets it: one scenario for each API, several at a time; how they are asked for is told
 * in ../under_faults/program.py, and what an outcome is in ../under_faults/librdkafka.py.
 */

import { createInterface } from "node:readline";

import kafkajs from "kafkajs";

const { Kafka, logLevel } = kafkajs;
const TRIES = 5;
const LIMIT_MS = 60_000;
const WRITTEN = ["goes on", "tries again"];

const scenarios = {
  /** An idempotent producer sends a record. */
  async produce(kafka) {
    const producer = kafka.producer({ idempotent: true, maxInFlightRequests: 1 });
    return await connected(producer, () => called(() => producer.send(record), false));
  },

  /** kafkajs reads in groups only. */
  fetch: (kafka) => read(kafka, "fetching"),

  /** A member of a group reads a topic. */
  joinGroup: (kafka) => read(kafka, "joining"),

  /** A consumer commits an offset and waits for the answer. */
  async offsetCommit(kafka) {
    return await read(kafka, "committing", (consumer) =>
      called(() => consumer.commitOffsets([{ topic: "given", partition: 0, offset: "1" }])),
    );
  },

  /** A transactional producer begins. */
  async initProducerId(kafka) {
    const producer = transactional(kafka);
    return await connected(producer, () => called(() => producer.transaction(), false));
  },

  /** A record and an offset are committed in a transaction. */
  async transaction(kafka) {
    const producer = transactional(kafka);
    return await connected(producer, () => transact(producer));
  },

  /** What the next transaction of a producer says after one that failed, and how that one goes with a new producer. */
  async madeAnew(kafka) {
    const producer = transactional(kafka);
    const next = await connected(producer, async () => {
      await transact(producer);
      return await called(() => producer.transaction());
    });
    return `${next}, then ${await scenarios.transaction(kafka)}`;
  },
};

const record = { topic: "t", messages: [{ partition: 0, value: "x" }] };

const playing = [];
const leaving = []; // which takes its time where an answer never comes
for await (const line of createInterface({ input: process.stdin })) {
  const [number, scenario, address] = line.split("\t");
  const kafka = new Kafka({
    brokers: [address],
    logLevel: logLevel.NOTHING,
    requestTimeout: 1500,
    retry: { initialRetryTime: 100, retries: 2 },
  });
  const outcome = scenarios[scenario](kafka).catch(nameOf);
  playing.push(outcome.then((found) => process.stdout.write(`${number}\t${found}\n`)));
}
await Promise.all(playing);
await Promise.all(leaving);
process.exit();

async function transact(producer) {
  const topics = [{ topic: "given", partitions: [{ partition: 0, offset: "1" }] }];
  const transaction = await producer.transaction();
  const calls = [
    () => transaction.send(record),
    () => transaction.sendOffsets({ consumerGroupId: "in-transactions", topics }),
    () => transaction.commit(),
  ];
  let outcome = "goes on";
  for (const call of calls) {
    const told = await called(call);
    if (told !== "goes on") outcome = told;
    if (!WRITTEN.includes(told)) break;
  }
  return outcome;
}

function transactional(kafka) {
  return kafka.producer({ transactionalId: "tx", idempotent: true, maxInFlightRequests: 1 });
}

async function connected(client, play) {
  await client.connect();
  try {
    return await play();
  } finally {
    leaving.push(client.disconnect().catch(() => {})); // a client that has failed may fail in this, too
  }
}

/** Read the one record there is, and do `then` as a member. An error that ends the consumer is its outcome. */
async function read(kafka, groupId, then = async () => "goes on") {
  const consumer = kafka.consumer({ groupId, sessionTimeout: 6000, rebalanceTimeout: 1000, maxWaitTimeInMs: 500 });
  return await connected(consumer, async () => {
    await consumer.subscribe({ topic: "given", fromBeginning: true });
    return await new Promise((resolve) => {
      consumer.on(consumer.events.CRASH, ({ payload: { error, restart } }) => {
        if (!restart) resolve(nameOf(error));
      });
      const eachMessage = async () => resolve(await then(consumer)); // so that no Fetch is on its way beside it
      consumer.run({ autoCommit: false, eachMessage }).catch((error) => resolve(nameOf(error)));
      setTimeout(resolve, LIMIT_MS, "nothing").unref();
    });
  });
}

/** Make the call again as long as the error says so; if that does not help, the first error is the outcome. */
async function called(call, again = true) {
  let first = null;
  for (let left = TRIES; left > 0; left--) {
    try {
      await call();
      return first === null ? "goes on" : "tries again";
    } catch (error) {
      first ??= error;
      if (!again || !error.retriable) return nameOf(first);
    }
  }
  return "gives up";
}

/** The error code's name where a broker's answer says it; else what kafkajs calls it, without what wraps it. */
function nameOf(error) {
  const wraps = ["KafkaJSNonRetriableError", "KafkaJSNumberOfRetriesExceeded"].includes(error.name);
  return wraps && error.cause ? nameOf(error.cause) : (error.type ?? error.name);
}

/** kafkajs's transactional producer. */

import kafkajs from "kafkajs";

import { Queue, serve, SESSION_MS } from "./transactions.mjs";

const { Kafka, logLevel } = kafkajs;
const FENCED = ["PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH"];

class Producer {
  static async open(address, transactionalId) {
    const opened = new Producer();
    // By default it gives up on a connection within seconds, and a broker may need more to come back.
    const retry = { retries: 100, maxRetryTime: 1000 };
    opened.kafka = new Kafka({ brokers: address.split(","), logLevel: logLevel.NOTHING, retry });
    opened.producer = opened.kafka.producer({ transactionalId, idempotent: true, maxInFlightRequests: 1 });
    await opened.producer.connect();
    opened.transaction = await opened.producer.transaction(); // which initialises the transactions, the first time
    opened.isBegun = true;
    return opened;
  }

  async begin() {
    if (!this.isBegun) this.transaction = await this.producer.transaction();
    this.isBegun = false;
  }

  async send(topic, partition, value) {
    await this.transaction.send({ topic, messages: [{ partition: Number(partition), value }] });
  }

  async copy(group, source, target, count) {
    this.member ??= await Member.join(this.kafka, group, source);
    for (let left = Number(count); left > 0; left--) {
      const { partition, message, done } = await this.member.records.take();
      await this.send(target, partition, message.value);
      this.member.positions.set(partition, String(BigInt(message.offset) + 1n));
      done();
    }
    const partitions = [...this.member.positions].map(([partition, offset]) => ({ partition, offset }));
    await this.transaction.sendOffsets({ consumerGroupId: group, topics: [{ topic: source, partitions }] });
  }

  async commit() {
    await this.transaction.commit();
  }

  async abort() {
    await this.transaction.abort();
    await this.leave();
  }

  async close() {
    await this.leave();
    await this.producer.disconnect();
  }

  async leave() {
    await this.member?.leave();
    this.member = undefined;
  }
}

/** A member of a group whose records are taken one after the other; it commits none by itself. */
class Member {
  records = new Queue();
  positions = new Map();

  static async join(kafka, groupId, topic) {
    const joined = new Member();
    joined.consumer = kafka.consumer({ groupId, sessionTimeout: SESSION_MS, heartbeatInterval: SESSION_MS / 12 });
    await joined.consumer.connect();
    await joined.consumer.subscribe({ topic, fromBeginning: true });
    const eachMessage = ({ partition, message }) =>
      new Promise((done, leave) => {
        joined.giveUp = leave;
        joined.records.put({ partition, message, done });
      });
    await joined.consumer.run({ autoCommit: false, eachMessage });
    return joined;
  }

  async leave() {
    this.giveUp?.(new Error("it leaves")); // the record that is taken by nobody
    await this.consumer.disconnect();
  }
}

await serve(Producer.open, (error) => FENCED.includes(error.type) || FENCED.includes(error.cause?.type));

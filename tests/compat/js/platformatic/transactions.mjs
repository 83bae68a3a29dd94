/** @platformatic/kafka's transactional producer. */

import { Consumer, Producer as PlatformaticProducer } from "@platformatic/kafka";

import { serve, SESSION_MS } from "../transactions.mjs";

const FENCED = ["PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH"];
// Without these it asks to go on as producer 0, which a broker refuses a second instance. And a transaction may take as
// long as a request, of which the default is five seconds.
const AS_A_NEW_ONE = { producerId: -1n, producerEpoch: -1, timeout: 60_000 };

class Producer {
  static async open(address, transactionalId) {
    const opened = new Producer();
    opened.at = { clientId: "platformatic", bootstrapBrokers: address.split(",") };
    const options = { ...opened.at, ...AS_A_NEW_ONE, transactionalId, idempotent: true, autocreateTopics: true };
    opened.producer = new PlatformaticProducer(options);
    opened.transaction = await opened.producer.beginTransaction(); // which initialises the transactions
    opened.isBegun = true;
    return opened;
  }

  async begin() {
    if (!this.isBegun) this.transaction = await this.producer.beginTransaction();
    this.isBegun = false;
  }

  async send(topic, partition, value) {
    await this.transaction.send({ messages: [{ topic, partition: Number(partition), value: Buffer.from(value) }] });
  }

  async copy(group, source, target, count) {
    this.member ??= await Member.join(this.at, group, source);
    await this.transaction.addConsumer(this.member.consumer);
    for (let left = Number(count); left > 0; left--) {
      const { value: message } = await this.member.messages.next();
      await this.send(target, message.partition, message.value);
      await this.transaction.addOffset(message);
    }
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
    await this.producer.close();
  }

  async leave() {
    await this.member?.consumer.close(true);
    this.member = undefined;
  }
}

/** A member of a group whose messages are taken one after the other; it commits none by itself. */
class Member {
  static async join(at, groupId, topic) {
    const joined = new Member();
    const session = { sessionTimeout: SESSION_MS, heartbeatInterval: SESSION_MS / 12, rebalanceTimeout: SESSION_MS };
    joined.consumer = new Consumer({ ...at, groupId, autocommit: false, ...session });
    const stream = await joined.consumer.consume({ topics: [topic], mode: "committed", fallbackMode: "earliest" });
    joined.messages = stream[Symbol.asyncIterator]();
    return joined;
  }
}

function isFenced(error) {
  return FENCED.includes(error.apiId) || (error.errors ?? [error.cause]).some((inner) => inner && isFenced(inner));
}

await serve(Producer.open, isFenced);

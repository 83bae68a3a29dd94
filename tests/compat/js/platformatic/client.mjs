/**
 * @platformatic/kafka with its default settings, but that topics may be made by writing to them. It speaks the newest
 * versions of the requests among the clients here, and reads at read_committed by default. It reads in groups only, so
 * `read` joins a group of its own that nobody else knows.
 */

import { randomUUID } from "node:crypto";

import { Consumer, ListOffsetTimestamps, Producer } from "@platformatic/kafka";

import { offsetsFrom, serve } from "../servant.mjs";

await serve({
  async open(address, topic, { idempotent }) {
    const producer = new Producer({ ...at(address), autocreateTopics: true, idempotent });
    return {
      async send(messages, compression) {
        const { offsets } = await producer.send({ messages: messages.map((it) => asMessage(topic, it)), compression });
        return offsetsFrom(messages, new Map(offsets.map(({ partition, offset }) => [partition, offset])));
      },
      close: () => producer.close(),
    };
  },

  async read(address, topic) {
    const consumer = new Consumer({ ...at(address), groupId: `reader-${randomUUID()}` });
    const starts = await consumer.listOffsets({ topics: [topic], timestamp: ListOffsetTimestamps.EARLIEST });
    const ends = await consumer.listOffsets({ topics: [topic] });
    const behind = new Map();
    ends.get(topic).forEach((end, partition) => {
      if (end > starts.get(topic)[partition]) behind.set(partition, end);
    });
    return await consume(consumer, topic, (message) => {
      if (message.offset + 1n >= behind.get(message.partition)) behind.delete(message.partition);
      return behind.size === 0;
    });
  },

  async readInGroup(address, topic, group, count) {
    let left = count;
    return await consume(new Consumer({ ...at(address), groupId: group }), topic, () => --left <= 0);
  },
});

function at(address) {
  return { clientId: "platformatic", bootstrapBrokers: address.split(",") };
}

/** What the consumer reads from where its group stands until `isLast(message)`; then it commits and leaves. */
async function consume(consumer, topic, isLast) {
  const found = [];
  const stream = await consumer.consume({ topics: [topic], mode: "committed", fallbackMode: "earliest" });
  for await (const message of stream) {
    found.push({ ...message, headers: message.headerEntries });
    if (isLast(message)) break;
  }
  await consumer.close(true);
  return found;
}

/** A header's name is a Buffer of its own here, so that a name may come twice in a Map. */
function asMessage(topic, { partition, key, value, headers, timestamp }) {
  return {
    topic,
    partition,
    key,
    value,
    headers: new Map(headers.map(([name, data]) => [Buffer.from(name), data])),
    timestamp: timestamp === null ? undefined : BigInt(timestamp),
  };
}

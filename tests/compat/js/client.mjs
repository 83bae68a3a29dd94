/**
 * kafkajs with its default settings, for kafkajs_client.py: requests are lines of JSON on stdin, answered in order by
 * lines of JSON on stdout, {"answer": …} or {"error": …}, until stdin ends. Bytes travel as base64, null as null.
 *
 * kafkajs brings gzip along; the other codecs are plugged in as its documentation says. It reads in groups only, so
 * `read` joins a group of its own that nobody else knows.
 */

import { randomUUID } from "node:crypto";
import { createInterface } from "node:readline";

import Lz4 from "@2l/kafkajs-lz4";
import kafkajs from "kafkajs";
import snappy from "kafkajs-snappy";
import zstd from "zstd-codec";

const { CompressionCodecs, CompressionTypes, Kafka, logLevel } = kafkajs;
const TYPES = {
  none: CompressionTypes.None,
  gzip: CompressionTypes.GZIP,
  snappy: CompressionTypes.Snappy,
  lz4: CompressionTypes.LZ4,
  zstd: CompressionTypes.ZSTD,
};
const zstdStreams = await new Promise((resolve) => zstd.ZstdCodec.run(({ Streaming }) => resolve(new Streaming())));

CompressionCodecs[CompressionTypes.Snappy] = snappy;
// Of the codecs that need no compiler, this one marks its blocks as independent; Kafka refuses LZ4 frames without the mark.
CompressionCodecs[CompressionTypes.LZ4] = new Lz4().codec;
CompressionCodecs[CompressionTypes.ZSTD] = () => ({
  compress: async (encoder) => Buffer.from(zstdStreams.compress(encoder.buffer)),
  decompress: async (data) => Buffer.from(zstdStreams.decompress(data)),
});

const COMMANDS = {
  /** Write `messages` in one request; the offset of each. */
  async write({ address, topic, messages, compression, idempotent }) {
    const producer = connectTo(address).producer({ idempotent });
    await producer.connect();
    const written = await producer.send({ topic, compression: TYPES[compression], messages: messages.map(asMessage) });
    await producer.disconnect();
    const next = new Map(written.map(({ partition, baseOffset }) => [partition, Number(baseOffset)]));
    return messages.map(({ partition }) => {
      const offset = next.get(partition);
      next.set(partition, offset + 1);
      return offset;
    });
  },

  /** Everything in the topic up to its ends of now. */
  async read({ address, topic }) {
    const kafka = connectTo(address);
    const admin = kafka.admin();
    await admin.connect();
    const ends = await admin.fetchTopicOffsets(topic);
    await admin.disconnect();
    const filled = ends.filter(({ low, high }) => low !== high);
    const behind = new Map(filled.map(({ partition, high }) => [partition, BigInt(high)]));
    if (behind.size === 0) return [];
    return await consume(kafka, topic, `reader-${randomUUID()}`, (batch) => {
      if (BigInt(batch.lastOffset()) + 1n >= behind.get(batch.partition)) behind.delete(batch.partition);
      return behind.size === 0;
    });
  },

  /** Read as a member of `group` until `count` messages came; kafkajs commits what it handled by itself. */
  async readInGroup({ address, topic, group, count }) {
    let left = count;
    return await consume(connectTo(address), topic, group, (batch) => (left -= batch.messages.length) <= 0);
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  const reply = await COMMANDS[request.command](request).then(
    (answer) => ({ answer }),
    (error) => ({ error: error.stack }),
  );
  process.stdout.write(`${JSON.stringify(reply)}\n`);
}

function connectTo(address) {
  return new Kafka({ brokers: [address], logLevel: logLevel.NOTHING });
}

/** What a member of `group` reads until `isLast(batch)`; then it commits and leaves. */
async function consume(kafka, topic, group, isLast) {
  const found = [];
  const consumer = kafka.consumer({ groupId: group });
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  await new Promise((resolve, reject) => {
    consumer.on(consumer.events.CRASH, ({ payload: { error, restart } }) => {
      if (!restart) reject(error); // else kafkajs is about to try again by itself
    });
    const eachBatch = async ({ batch }) => {
      found.push(...batch.messages.map((message) => asStored(batch.partition, message)));
      // Not awaited here, as it waits for this batch; and not called later, when the next long poll has begun.
      if (isLast(batch)) resolve(consumer.disconnect());
    };
    consumer.run({ eachBatch }).catch(reject);
  });
  return found;
}

function asMessage({ partition, key, value, headers, timestamp }) {
  const byName = {};
  for (const [name, data] of headers) (byName[name] ??= []).push(fromBase64(data));
  return {
    partition,
    key: fromBase64(key),
    value: fromBase64(value),
    headers: byName,
    timestamp: timestamp === null ? undefined : String(timestamp),
  };
}

function asStored(partition, { offset, timestamp, key, value, headers }) {
  const pairs = Object.entries(headers).flatMap(([name, data]) => [data].flat().map((one) => [name, toBase64(one)]));
  return [partition, Number(offset), Number(timestamp), toBase64(key), toBase64(value), pairs];
}

function fromBase64(text) {
  return text === null ? null : Buffer.from(text, "base64");
}

function toBase64(data) {
  return data === null ? null : data.toString("base64");
}

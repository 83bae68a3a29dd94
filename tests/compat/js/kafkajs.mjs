/**
 * kafkajs with its default settings. It sends the oldest versions of the requests that a client in use sends.
 *
 * kafkajs brings gzip along; the other codecs are plugged in as its documentation says. It reads in groups only, so
 * `read` joins a group of its own that nobody else knows.
 */

import { randomUUID } from "node:crypto";

import Lz4 from "@2l/kafkajs-lz4";
import kafkajs from "kafkajs";
import snappy from "kafkajs-snappy";
import zstd from "zstd-codec";

import { offsetsFrom, serve } from "./servant.mjs";

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

await serve({
  async open(address, topic, { idempotent }) {
    const producer = connectTo(address).producer({ idempotent });
    await producer.connect();
    return {
      async send(messages, compression) {
        const wanted = { topic, compression: TYPES[compression], messages: messages.map(asMessage) };
        const written = await producer.send(wanted);
        return offsetsFrom(messages, new Map(written.map((it) => [it.partition, BigInt(it.baseOffset)])));
      },
      close: () => producer.disconnect(),
    };
  },

  async read(address, topic) {
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

  /** kafkajs commits what it handled by itself. */
  async readInGroup(address, topic, group, count) {
    let left = count;
    return await consume(connectTo(address), topic, group, (batch) => (left -= batch.messages.length) <= 0);
  },
});

/** By default it gives up on a connection within seconds, and a broker may need more to come back. */
function connectTo(address) {
  return new Kafka({ brokers: address.split(","), logLevel: logLevel.NOTHING, retry: { retries: 100, maxRetryTime: 1000 } });
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
      found.push(...batch.messages.map((message) => asRecord(batch.partition, message)));
      // Not awaited here, as it waits for this batch; and not called later, when the next long poll has begun.
      if (isLast(batch)) resolve(consumer.disconnect());
    };
    consumer.run({ eachBatch }).catch(reject);
  });
  return found;
}

function asMessage({ partition, key, value, headers, timestamp }) {
  const byName = {};
  for (const [name, data] of headers) (byName[name] ??= []).push(data);
  return { partition, key, value, headers: byName, timestamp: timestamp === null ? undefined : String(timestamp) };
}

function asRecord(partition, { headers, ...rest }) {
  const pairs = Object.entries(headers).flatMap(([name, data]) => [data].flat().map((one) => [name, one]));
  return { ...rest, partition, headers: pairs };
}

/**
 * A JavaScript client as a servant: it takes commands on stdin and answers on stdout, in the language that
 * java/StockClient.java and go/main.go speak: one line of tab-separated words is a command, lines answer it, and "."
 * ends an answer. Bytes are base64, "-" is null and "=" is empty.
 *
 * A client gives three functions: open(address, topic, { idempotent }) is a writer whose send(messages, compression)
 * resolves to the offset of each; read(address, topic) and readInGroup(address, topic, group, count) resolve to records.
 * An error ends the process, with its stack on stderr.
 */

import { createInterface } from "node:readline";

/** Obey until stdin ends. With --idempotent on the command line, `write` numbers its batches, as `stream` always does. */
export async function serve(client) {
  const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
  const idempotent = process.argv.includes("--idempotent");
  const commands = {
    async write(address, topic, compression, count) {
      const messages = [];
      while (messages.length < Number(count)) messages.push(parseMessage((await lines.next()).value));
      const writer = await client.open(address, topic, { idempotent });
      for (const offset of await writer.send(messages, compression)) say(offset);
      await writer.close();
    },
    async read(address, topic) {
      (await client.read(address, topic)).forEach(sayRecord);
    },
    async group(address, topic, group, count) {
      (await client.readInGroup(address, topic, group, Number(count))).forEach(sayRecord);
    },
    /** One request after the other: the clients answer for the order of what is numbered only so. */
    async stream(address, topic, count, window) {
      const writer = await client.open(address, topic, { idempotent: true });
      for (let first = 0; first < Number(count); first += Number(window)) {
        const messages = numbered(first, Math.min(Number(count), first + Number(window)));
        (await writer.send(messages, "none")).forEach((offset, index) => say(first + index, offset));
      }
      await writer.close();
    },
  };
  for await (const line of lines) {
    const [command, ...words] = line.split("\t");
    await commands[command](...words);
    say(".");
  }
}

/** The offset of each of `messages`; `firstOffsets` maps a partition to where its first one went. */
export function offsetsFrom(messages, firstOffsets) {
  return messages.map(({ partition }) => {
    const offset = firstOffsets.get(partition);
    firstOffsets.set(partition, offset + 1n);
    return offset;
  });
}

function numbered(first, end) {
  const messages = [];
  for (let n = first; n < end; n++) {
    messages.push({ partition: n % 3, timestamp: null, key: null, value: Buffer.from(String(n)), headers: [] });
  }
  return messages;
}

function say(...words) {
  process.stdout.write(`${words.join("\t")}\n`);
}

function sayRecord({ partition, offset, timestamp, key, value, headers }) {
  const pairs = headers.map(([name, data]) => `${name}=${text(data)}`).join(",");
  say(partition, offset, timestamp, text(key), text(value), pairs || "-");
}

function parseMessage(line) {
  const [partition, timestamp, key, value, headers] = line.split("\t");
  const pairs = headers === "-" ? [] : headers.split(",").map((pair) => pair.match(/^(.*?)=(.*)$/).slice(1));
  return {
    partition: Number(partition),
    timestamp: timestamp === "-" ? null : Number(timestamp),
    key: data(key),
    value: data(value),
    headers: pairs.map(([name, word]) => [name, data(word)]),
  };
}

function text(bytes) {
  if (bytes === null || bytes === undefined) return "-";
  return bytes.toString("base64") || "=";
}

function data(word) {
  return word === "-" ? null : Buffer.from(word, "base64"); // of "=" there are no bytes
}

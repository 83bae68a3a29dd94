// A Node.js test against its own broker: node --test. Needs kafkajs, and `barnabas` on the PATH or its path in
// BARNABAS.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { Kafka, logLevel } from "kafkajs";

/** A broker; its stdin is a pipe from this process, so it ends with this process, even if that is killed. */
async function startBarnabas(...flags) {
  const program = process.env.BARNABAS ?? "barnabas";
  const options = ["serve", "--port", "0", "--ephemeral", "--stop-with-stdin", "--log-level", "warning", ...flags];
  const child = spawn(program, options, { stdio: ["pipe", "pipe", "inherit"] });
  // The first line, `barnabas ready HOST:PORT data=DIR`, comes when clients can connect. If the broker cannot start, there is none.
  const lines = createInterface({ input: child.stdout });
  const [line] = await Promise.race([once(lines, "line"), once(child, "error").then(([error]) => Promise.reject(error)),
    once(lines, "close").then(() => [""])]);
  const ready = /^barnabas ready (\S+) data=/.exec(line);
  assert.ok(ready, `${program} did not start`);
  return {
    bootstrapServers: ready[1],
    async stop() {
      const ended = once(child, "exit");
      child.stdin.end();
      await ended;
    },
  };
}

let broker;
before(async () => { broker = await startBarnabas("--topic", "orders:3", "--topic", "payments:1"); });
after(async () => { await broker.stop(); });

test("an order arrives", async () => {
  const kafka = new Kafka({ brokers: [broker.bootstrapServers], logLevel: logLevel.ERROR });
  const producer = kafka.producer();
  await producer.connect();
  await producer.send({ topic: "orders", messages: [{ key: "7", value: "one castle" }] });
  await producer.disconnect();

  const consumer = kafka.consumer({ groupId: "readers" });
  await consumer.connect();
  await consumer.subscribe({ topic: "orders", fromBeginning: true });
  const value = await new Promise((resolve) => {
    consumer.run({ eachMessage: async ({ message }) => resolve(message.value.toString()) });
  });
  await consumer.disconnect();
  assert.equal(value, "one castle");
});

test("an order and its payment are seen together, or not at all", async () => {
  const kafka = new Kafka({ brokers: [broker.bootstrapServers], logLevel: logLevel.ERROR });
  const producer = kafka.producer({ transactionalId: "payments", idempotent: true, maxInFlightRequests: 1 });
  await producer.connect();
  for (const [value, commits] of [["never paid", false], ["paid", true]]) {
    const transaction = await producer.transaction();
    await transaction.send({ topic: "payments", messages: [{ value }] });
    await (commits ? transaction.commit() : transaction.abort());
  }
  await producer.disconnect();

  const consumer = kafka.consumer({ groupId: "accounts", readUncommitted: false });
  await consumer.connect();
  await consumer.subscribe({ topic: "payments", fromBeginning: true });
  const first = await new Promise((resolve) => {
    consumer.run({ eachMessage: async ({ message }) => resolve(message.value.toString()) });
  });
  await consumer.disconnect();
  assert.equal(first, "paid");
});

/** An address without a listener. */
async function freeAddress() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  await new Promise((resolve) => { server.close(resolve); });
  return `127.0.0.1:${port}`;
}

// What a producer does when the broker misbehaves: docs/faults.md.
test("an order is written although the connection is cut before it is", async () => {
  const http = await freeAddress();
  const misbehaving = await startBarnabas("--topic", "orders:1", "--http", http, "--control");
  const faults = `http://${http}/control/faults`;
  const fault = { name: "cut", match: { api: "Produce" }, do: { drop: true, cut: "before" } };
  const armed = await fetch(faults, { method: "POST", body: JSON.stringify(fault) });
  assert.equal(armed.status, 200, await armed.text());
  const kafka = new Kafka({ brokers: [misbehaving.bootstrapServers], logLevel: logLevel.NOTHING });
  const producer = kafka.producer();
  await producer.connect();
  const [sent] = await producer.send({ topic: "orders", messages: [{ value: "one castle" }] });
  await producer.disconnect();
  assert.equal(sent.baseOffset, "0");
  const fired = await fetch(`${faults}/cut?wait_fired=1`);
  assert.equal((await fired.json()).fired, 1);
  await misbehaving.stop();
});

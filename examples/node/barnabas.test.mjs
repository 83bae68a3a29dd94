// A Node.js test against a broker of its own: node --test. Needs kafkajs, and `barnabas` on the PATH or its path in
// BARNABAS.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
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
before(async () => { broker = await startBarnabas("--topic", "orders:3"); });
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

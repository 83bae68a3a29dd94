/**
 * A member of a group, of kafkajs, that tells what it sees: PIPE OWNER ADDRESS TOPIC KIND SESSION_TIMEOUT_MS
 * HEARTBEAT_INTERVAL_MS INSTANCE. It leaves when stdin ends. What it tells is described in chaos/programs.py.
 *
 * kafkajs knows dynamic members of the classic protocol only, and does not tell its generation. It brings no assignor
 * that other clients have, so "range" is here.
 */

import { openSync, writeSync } from "node:fs";

import kafkajs from "kafkajs";

const [pipe, owner, address, topic, , sessionTimeout, heartbeatInterval] = process.argv.slice(2);
const { AssignerProtocol, Kafka, logLevel } = kafkajs;
const told = openSync(pipe, "a");
const held = new Set();
let isLeaving = false;
const isToLeave = new Promise((resolve) => process.stdin.on("end", resolve).resume());
const retry = { retries: 5, maxRetryTime: 500 }; // then it begins anew, and only then does it look for another coordinator
const kafka = new Kafka({ brokers: address.split(","), logLevel: logLevel.WARN, logCreator: () => log, retry });
const consumer = kafka.consumer({
  groupId: topic,
  sessionTimeout: Number(sessionTimeout),
  heartbeatInterval: Number(heartbeatInterval),
  maxWaitTimeInMs: 200,
  partitionAssigners: [range],
  retry,
});

consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
  take("lost"); // where it was told of no rebalance, it was put out
  const given = isLeaving ? [] : (payload.memberAssignment[topic] ?? []);
  given.forEach((partition) => held.add(partition));
  tell("given", -1, given.join(","));
});
consumer.on(consumer.events.STOP, () => take("lost")); // before it begins anew it leaves, and only then tells
consumer.on(consumer.events.REBALANCING, () => take("taken"));
consumer.on(consumer.events.COMMIT_OFFSETS, ({ payload }) => {
  const partitions = payload.topics.flatMap((each) => each.partitions);
  tell("committed", partitions.map(({ partition, offset }) => `${partition}:${offset}`).join(","));
});
consumer.on(consumer.events.CRASH, ({ payload: { error, restart } }) => {
  log({ log: { message: `${error.stack}; restart: ${restart}` } });
  if (!restart) process.exit(1);
});

// Where there is no broker, or it is killed as this member leaves, kafkajs goes on for more than a minute.
isToLeave.then(() => setTimeout(() => process.exit(0), 10_000));
await consumer.connect();
await consumer.subscribe({ topic, fromBeginning: true });
await consumer.run({ eachBatchAutoResolve: false, eachBatch });
await isToLeave;
isLeaving = true;
take("taken"); // from here on nothing is resolved, and so nothing committed
await consumer.disconnect();
process.exit(0);

/** What kafkajs hands out although a rebalance has begun is not resolved, so it is not committed. */
async function eachBatch({ batch: { partition, messages }, resolveOffset }) {
  if (!held.has(partition)) return;
  for (const { offset } of messages) {
    tell("read", partition, offset);
    resolveOffset(offset);
  }
}

function take(how) {
  if (held.size > 0) tell(how, [...held].join(","));
  held.clear();
}

/** One write for a line, so that lines of several programs do not mix. */
function tell(...words) {
  writeSync(told, `${[owner, ...words].join("\t")}\n`);
}

function log({ log: { message, ...more } }) {
  process.stderr.write(`${message} ${JSON.stringify(more)}\n`);
}

function range({ cluster }) {
  return {
    name: "range",
    version: 0,
    protocol: ({ topics }) => ({
      name: "range",
      metadata: AssignerProtocol.MemberMetadata.encode({ version: 0, topics, userData: Buffer.alloc(0) }),
    }),
    async assign({ members }) {
      const partitions = cluster.findTopicPartitionMetadata(topic).map((each) => each.partitionId).sort((a, b) => a - b);
      const ids = members.map((each) => each.memberId).sort();
      return ids.map((memberId, place) => {
        const from = Math.ceil((place * partitions.length) / ids.length);
        const to = Math.ceil(((place + 1) * partitions.length) / ids.length);
        const assignment = { [topic]: partitions.slice(from, to) };
        return { memberId, memberAssignment: AssignerProtocol.MemberAssignment.encode({ version: 0, assignment, userData: Buffer.alloc(0) }) };
      });
    },
  };
}

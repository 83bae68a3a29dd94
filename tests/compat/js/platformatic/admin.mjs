/**
 * @platformatic/kafka's admin interface: `admin.mjs ADDRESS TOPIC GROUP` makes the topic with two partitions, which it fills
 * and empties, moves and deletes the group, deletes the topic, and prints what each call said as a line of JSON.
 */

import { Admin, ConfigResourceTypes, IncrementalAlterConfigOperationTypes, Producer } from "@platformatic/kafka";

const [address, topic, group] = process.argv.slice(2);
const at = { clientId: "platformatic", bootstrapBrokers: [address] };
const admin = new Admin(at);
const latest = [0, 1, 2].map((partitionIndex) => ({ partitionIndex, timestamp: -1n }));

function say(what, answer) {
  const plain = JSON.stringify(answer, (_, value) => (typeof value === "bigint" ? Number(value) : value));
  process.stdout.write(`${JSON.stringify(what)}: ${plain}\n`);
}

const [made] = await admin.createTopics({ topics: [topic], partitions: 2, replicas: 1 });
say("made", [made.name, made.partitions]);
await untilKnown(2);
await admin.createPartitions({ topics: [{ name: topic, count: 3, assignments: [{ brokerIds: [1] }] }] });
await untilKnown(3);
say("is listed", (await admin.listTopics()).includes(topic));

const set = { configOperation: IncrementalAlterConfigOperationTypes.SET, name: "retention.ms", value: "3600000" };
const resource = { resourceType: ConfigResourceTypes.TOPIC, resourceName: topic };
await admin.incrementalAlterConfigs({ resources: [{ ...resource, configs: [set] }] });
const [described] = await admin.describeConfigs({ resources: [{ ...resource, configurationKeys: ["retention.ms"] }] });
say("settings", described.configs.map(({ name, value }) => [name, value]));

const producer = new Producer(at);
const messages = [...Array(30).keys()].map((n) => ({ topic, partition: n % 3, value: Buffer.from(String(n)) }));
await producer.send({ messages });
await producer.close();
const [ends] = await admin.listOffsets({ topics: [{ name: topic, partitions: latest }] });
say("ends", ends.partitions.map(({ offset }) => offset));
const [emptied] = await admin.deleteRecords({ topics: [{ name: topic, partitions: [{ partition: 1, offset: 4n }] }] });
say("low watermark", emptied.partitions[0].lowWatermark);
const [directories] = await admin.describeLogDirs({ topics: [{ name: topic, partitions: [0, 1, 2] }] });
const found = directories.results.flatMap(({ topics }) => topics.flatMap(({ partitions }) => partitions));
say("partitions on the disk", found.filter(({ partitionSize }) => partitionSize > 0n).length);

const moved = { name: topic, partitionOffsets: [{ partition: 0, offset: 5n }, { partition: 2, offset: 7n }] };
await admin.alterConsumerGroupOffsets({ groupId: group, topics: [moved] });
await admin.deleteConsumerGroupOffsets({ groupId: group, topics: [{ name: topic, partitionIndexes: [2] }] });
const [committed] = await admin.listConsumerGroupOffsets({ groups: [group] });
say("committed", committed.topics.flatMap(({ partitions }) => partitions.map((it) => [it.partitionIndex, it.committedOffset])));
say("state", (await admin.describeGroups({ groups: [group] })).get(group).state);
await admin.deleteGroups({ groups: [group] });
say("group is listed", (await admin.listGroups()).has(group));
await admin.deleteTopics({ topics: [topic] });
await admin.close();

/** A broker may answer before everybody knows. */
async function untilKnown(partitions) {
  for (;;) {
    const { topics } = await admin.metadata({ topics: [topic], forceUpdate: true }).catch(() => ({ topics: new Map() }));
    if (topics.get(topic)?.partitionsCount === partitions) return;
  }
}

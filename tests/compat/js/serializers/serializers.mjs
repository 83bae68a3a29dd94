/**
 * Writes and reads orders through a JavaScript client of schema registries: CLIENT STEP ADDRESS REGISTRY TOPIC [SCHEMA…].
 * CLIENT is confluent or kafkajs, STEP write or read; tests/compat/serializers/test_serializers.py says what is printed.
 */

import kafkajs from "kafkajs";

const [client, step, address, url, topic, ...schemas] = process.argv.slice(2);
const orders = [{ amount: 1 }, { amount: 2, note: "new" }];
const subject = `${topic}-value`;

/** Confluent's client. */
async function confluent() {
  const sr = await import("@confluentinc/schemaregistry");
  const registry = new sr.SchemaRegistryClient({ baseURLs: [url] });
  const serializer = new sr.AvroSerializer(registry, sr.SerdeType.VALUE, { useLatestVersion: true });
  const deserializer = new sr.AvroDeserializer(registry, sr.SerdeType.VALUE, {});
  return {
    register: (schema) => registry.register(subject, { schemaType: "AVRO", schema }),
    encode: async (schema, order) => {
      registry.clearLatestCaches();
      return serializer.serialize(topic, order);
    },
    decode: (value) => deserializer.deserialize(topic, value),
    status: (error) => error.status,
  };
}

/** The client of kafkajs. */
async function ofKafkajs() {
  const { SchemaRegistry, SchemaType } = await import("@kafkajs/confluent-schema-registry");
  const registry = new SchemaRegistry({ host: url });
  const register = (schema) => registry.register({ type: SchemaType.AVRO, schema }, { subject });
  return {
    register,
    encode: async (schema, order) => registry.encode((await register(schema)).id, order),
    decode: (value) => registry.decode(value),
    status: (error) => error.status,
  };
}

async function write(registry) {
  const producer = kafka.producer({ createPartitioner: kafkajs.Partitioners.DefaultPartitioner });
  await producer.connect();
  for (const [version, order] of orders.entries()) {
    await registry.register(schemas[version]);
    const value = await registry.encode(schemas[version], order);
    await producer.send({ topic, messages: [{ value, partition: 0 }] });
  }
  await producer.disconnect();
  try {
    await registry.register(schemas[2]);
  } catch (error) {
    console.log("refused", registry.status(error));
  }
}

async function read(registry) {
  const consumer = kafka.consumer({ groupId: "readers" });
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  await new Promise((resolve) => {
    let left = orders.length;
    consumer.run({
      eachMessage: async ({ message: { value } }) => {
        const { amount, ...others } = await registry.decode(value);
        console.log("order", value.readUInt32BE(1), JSON.stringify({ amount: Number(amount), ...others }));
        left -= 1;
        if (left === 0) resolve();
      },
    });
  });
  await consumer.disconnect();
}

const kafka = new kafkajs.Kafka({ brokers: [address], logLevel: kafkajs.logLevel.ERROR });
const registry = await (client === "confluent" ? confluent() : ofKafkajs());
await (step === "write" ? write(registry) : read(registry));

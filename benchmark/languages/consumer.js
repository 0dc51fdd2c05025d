// node consumer.js SERVERS TOPIC COUNT: reads COUNT messages with kafkajs and JSON.parse.
const {Kafka, logLevel} = require("kafkajs");

const [servers, topic, count] = process.argv.slice(2);
const total = Number(count);
const goal = Math.floor(total * 9 / 10);
let seen = 0, sum = 0, began, ended;

function read(bytes) {
  const order = JSON.parse(bytes.toString());
  return order.id + order.status.length + Math.round(order.total * 100) + order.customer.email.length + order.items[0].quantity;
}

async function run() {
  const kafka = new Kafka({clientId: "bench", brokers: [servers], logLevel: logLevel.ERROR});
  const consumer = kafka.consumer({groupId: `bench-node-${process.pid}`, maxWaitTimeInMs: 50, maxBytesPerPartition: 10000000});
  await consumer.connect();
  await consumer.subscribe({topics: [topic], fromBeginning: true});
  await consumer.run({
    eachBatch: async ({batch}) => {
      began ??= process.hrtime.bigint();
      for (const message of batch.messages) sum += read(message.value);
      seen += batch.messages.length;
      if (seen >= goal) ended ??= process.hrtime.bigint();
      if (seen < total) return;
      console.log(JSON.stringify({rate: goal / (Number(ended - began) / 1e9), sum}));
      process.exit(0);
    }
  });
}

run();

// java -cp KAFKA_LIBS/* Consumer.java SERVERS TOPIC COUNT MODE THREADS: reads COUNT messages with kafka-clients and Jackson; MODE tree or streaming.
// Prints JSON: messages a second from the first message to 90 % of them, the sum of what was read.
import com.fasterxml.jackson.core.*;
import com.fasterxml.jackson.databind.*;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.atomic.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

public class Consumer {
    static final ObjectMapper MAPPER = new ObjectMapper();
    static final AtomicLong count = new AtomicLong(), sum = new AtomicLong(), began = new AtomicLong(), ended = new AtomicLong();

    static long tree(byte[] bytes) throws Exception {
        JsonNode order = MAPPER.readTree(bytes);
        return order.get("id").asLong() + order.get("status").asText().length() + Math.round(order.get("total").asDouble() * 100)
            + order.get("customer").get("email").asText().length() + order.get("items").get(0).get("quantity").asLong();
    }

    // The five fields; the rest is skipped, as far as a streaming parser can.
    static long streaming(byte[] bytes) throws Exception {
        long found = 0;
        try (JsonParser parser = MAPPER.getFactory().createParser(bytes)) {
            parser.nextToken();
            while (parser.nextToken() == JsonToken.FIELD_NAME) {
                String name = parser.currentName();
                parser.nextToken();
                switch (name) {
                    case "id": found += parser.getLongValue(); break;
                    case "status": found += parser.getText().length(); break;
                    case "total": found += Math.round(parser.getDoubleValue() * 100); break;
                    case "customer":
                        while (parser.nextToken() == JsonToken.FIELD_NAME) {
                            String inner = parser.currentName();
                            parser.nextToken();
                            if (inner.equals("email")) found += parser.getText().length(); else parser.skipChildren();
                        }
                        break;
                    case "items":
                        parser.nextToken();
                        while (parser.nextToken() == JsonToken.FIELD_NAME) {
                            String inner = parser.currentName();
                            parser.nextToken();
                            if (inner.equals("quantity")) found += parser.getLongValue(); else parser.skipChildren();
                        }
                        while (parser.nextToken() != JsonToken.END_ARRAY) parser.skipChildren();
                        break;
                    default: parser.skipChildren();
                }
            }
        }
        return found;
    }

    public static void main(String[] args) throws Exception {
        long total = Long.parseLong(args[2]), goal = total * 9 / 10;
        boolean tree = args[3].equals("tree");
        int threads = Integer.parseInt(args[4]);
        String group = "bench-java-" + ProcessHandle.current().pid();
        List<Thread> all = new ArrayList<>();
        for (int number = 0; number < threads; number++) {
            Thread thread = new Thread(() -> {
                Properties settings = new Properties();
                settings.putAll(Map.of("bootstrap.servers", args[0], "group.id", group, "auto.offset.reset", "earliest",
                    "fetch.max.wait.ms", "50", "max.partition.fetch.bytes", "10000000", "max.poll.records", "2000"));
                try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
                    consumer.subscribe(List.of(args[1]));
                    while (count.get() < total) {
                        ConsumerRecords<byte[], byte[]> records = consumer.poll(Duration.ofMillis(100));
                        if (records.isEmpty()) continue;
                        began.compareAndSet(0, System.nanoTime());
                        long mine = 0;
                        for (ConsumerRecord<byte[], byte[]> record : records) mine += tree ? tree(record.value()) : streaming(record.value());
                        sum.addAndGet(mine);
                        if (count.addAndGet(records.count()) >= goal) ended.compareAndSet(0, System.nanoTime());
                    }
                } catch (Exception error) {
                    error.printStackTrace();
                    System.exit(1);
                }
            });
            thread.start();
            all.add(thread);
        }
        for (Thread thread : all) thread.join();
        System.out.println("{\"rate\":" + goal / ((ended.get() - began.get()) / 1e9) + ",\"sum\":" + sum.get() + "}");
    }
}

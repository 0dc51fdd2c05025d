/* The limit: a consumer in C that takes batches and decodes nothing. consumer SERVERS TOPIC COUNT GROUP
 * Prints the messages a second from the first to 90 % of them. Built against the librdkafka of karafka-rdkafka. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <time.h>

typedef struct {
    int error;
    void *topic;
    int32_t partition;
    void *payload;
    size_t length;
    void *key;
    size_t key_length;
    int64_t offset;
    void *private;
} message;

extern void *rd_kafka_conf_new(void);
extern int rd_kafka_conf_set(void *conf, const char *name, const char *value, char *error, size_t size);
extern void *rd_kafka_new(int type, void *conf, char *error, size_t size);
extern int rd_kafka_poll_set_consumer(void *client);
extern void *rd_kafka_topic_partition_list_new(int size);
extern void *rd_kafka_topic_partition_list_add(void *list, const char *topic, int32_t partition);
extern int rd_kafka_subscribe(void *client, const void *list);
extern void *rd_kafka_queue_get_consumer(void *client);
extern ssize_t rd_kafka_consume_batch_queue(void *queue, int timeout_ms, message **messages, size_t size);
extern void rd_kafka_message_destroy(message *message);

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static void set(void *conf, const char *name, const char *value)
{
    char error[256];
    if (rd_kafka_conf_set(conf, name, value, error, sizeof(error)) == 0) return;
    fprintf(stderr, "%s\n", error);
    exit(1);
}

int main(int argc, char **argv)
{
    char error[256];
    message *messages[500];
    if (argc != 5) return 2;
    void *conf = rd_kafka_conf_new();
    set(conf, "bootstrap.servers", argv[1]);
    set(conf, "group.id", argv[4]);
    set(conf, "auto.offset.reset", "earliest");
    set(conf, "fetch.queue.backoff.ms", "5");
    set(conf, "fetch.wait.max.ms", "50");
    set(conf, "queued.max.messages.kbytes", "50000");
    set(conf, "fetch.message.max.bytes", "10000000");
    void *client = rd_kafka_new(1, conf, error, sizeof(error));
    rd_kafka_poll_set_consumer(client);
    void *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(list, argv[2], -1);
    rd_kafka_subscribe(client, list);
    void *queue = rd_kafka_queue_get_consumer(client);
    long count = 0, total = atol(argv[3]), goal = total * 9 / 10;
    double began = 0, ended = 0, limit = now() + 90;
    uint64_t sum = 0;
    while (count < total && now() < limit) {
        ssize_t taken = rd_kafka_consume_batch_queue(queue, count ? 20 : 1000, messages, 500);
        for (ssize_t index = 0; index < taken; index++) {
            if (!messages[index]->error) {
                if (!count) began = now();
                sum += (uint64_t)messages[index]->offset;
                count++;
            }
            rd_kafka_message_destroy(messages[index]);
        }
        if (!ended && count >= goal) ended = now();
    }
    if (count < total) return 1;
    printf("{\"rate\": %f, \"sum\": %llu, \"peak_kb\": 0}\n", goal / (ended - began), (unsigned long long)sum);
    fflush(stdout);
    _Exit(0);
}

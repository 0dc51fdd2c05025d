/* As much of librdkafka as the reader calls: one partition, whose messages a test pushes. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

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

enum { MOST = 4096 };
static message *pending[MOST];
static size_t taken, pushed;
static int64_t next_offset;
static int main_queue, partition_queue;

/* `length` may be more than there is: nothing is copied of what there is no memory for. payload: NULL for a tombstone. */
void fake_push(const char *payload, size_t bytes, size_t length)
{
    message *one = calloc(1, sizeof *one);
    if (payload) one->payload = memcpy(malloc(bytes + 1), payload, bytes);
    one->length = length;
    one->offset = next_offset++;
    one->topic = "t";
    pending[pushed++ % MOST] = one;
}

ssize_t fake_consume(void *queue, int timeout_ms, message **messages, size_t size)
{
    size_t count = 0;
    while (queue == &partition_queue && count < size && taken < pushed) messages[count++] = pending[taken++ % MOST];
    return (ssize_t)count;
}

void fake_destroy(message *one)
{
    free(one->payload);
    free(one);
}

int64_t fake_timestamp(const message *one, int *type) { return -1; }
int fake_headers(const message *one, void **headers) { return -1; }
int fake_header(const void *headers, size_t index, const char **name, const void **value, size_t *size) { return -1; }
const char *fake_topic(const void *topic) { return topic; }
const char *fake_error(const message *one) { return "an error"; }
void *fake_get_consumer(void *consumer) { return &main_queue; }
void *fake_get_partition(void *consumer, const char *topic, int32_t partition) { return &partition_queue; }
void fake_forward(void *source, void *destination) {}
void fake_destroy_queue(void *queue) {}
void fake_enable(void *queue, void (*callback)(void *, void *), void *opaque) {}

/* Guildhall::Kafka::PartitionQueue: one partition's own queue in librdkafka, and what the reader has taken from it.
 * Only the reader's thread works on it; other threads may change what is allowed, with the GVL. */
#ifndef GUILDHALL_KAFKA_PARTITION_QUEUE_H
#define GUILDHALL_KAFKA_PARTITION_QUEUE_H

#include "doorbell.h"
#include "entry.h"

typedef struct {
    const guildhall_librdkafka *library; /* the reader's */
    guildhall_doorbell *bell;            /* the reader's */
    VALUE reader;
    VALUE owner; /* stands beside the records in what the reader hands over */
    VALUE topic;
    VALUE codec;
    const char *topic_name; /* the bytes of `topic`, which is frozen */
    const guildhall_decoder *decoder;
    void *queue;
    int32_t partition;
    int32_t allowed; /* how many messages may still be taken; atomic */
    size_t allowed_bytes; /* of one batch; atomic */
    bool closed;
    size_t average_size; /* of the payloads so far, bytes */
    guildhall_kafka_entry *first;
    guildhall_kafka_entry **last;
    size_t count;
} guildhall_partition_queue;

VALUE guildhall_partition_queue_new(VALUE reader, const guildhall_librdkafka *library, guildhall_doorbell *bell,
                                    void *consumer, VALUE topic, VALUE partition, VALUE owner, VALUE codec);
guildhall_partition_queue *guildhall_partition_queue_get(VALUE self);
/* Has the bell rung when something comes into the queue. */
void guildhall_partition_queue_watch(guildhall_partition_queue *queue);
bool guildhall_partition_queue_holds(const guildhall_partition_queue *queue, const guildhall_kafka_message *message);
/* Copies the message, decoded if that can be done. Without the GVL; the message is still the caller's. */
void guildhall_partition_queue_add(guildhall_partition_queue *queue, const guildhall_kafka_message *message);
/* So many were added. Not with each: it would wait for what the copying has yet to write. */
void guildhall_partition_queue_count(guildhall_partition_queue *queue, int32_t taken);
/* How many messages to take now, at most `most`. */
size_t guildhall_partition_queue_wanted(const guildhall_partition_queue *queue, size_t most);
/* With the GVL: the entries as what {Reader#take} returns for a partition. */
VALUE guildhall_partition_queue_hand_over(guildhall_partition_queue *queue);
/* Gives the queue back to librdkafka, drops the entries. The second time nothing happens. */
void guildhall_partition_queue_release(guildhall_partition_queue *queue);
void guildhall_init_partition_queue(VALUE kafka);

#endif

/* Guildhall::Kafka::Reading::PartitionQueue: one partition's own queue in librdkafka, and what the reader has taken from it.
 * Only the reader's thread works on it; other threads may change what is allowed, with the GVL. */
#ifndef GUILDHALL_KAFKA_PARTITION_QUEUE_H
#define GUILDHALL_KAFKA_PARTITION_QUEUE_H

#include "wakeup.h"
#include "record.h"

typedef struct {
    const guildhall_librdkafka *library; /* the reader's */
    guildhall_wakeup *wakeup;            /* the reader's */
    VALUE reader;
    VALUE owner; /* passed on by the reader along with the records */
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
    /* On their way to Ruby, with the GVL; they stay here until all of a take can be handed over. */
    VALUE records;   /* false: there are none */
    VALUE documents; /* of each record; false: this codec decodes nothing here */
    size_t bytes;    /* of the records' payloads */
    VALUE wrapping;  /* the one of them that the codec is at work on; false: none */
} guildhall_partition_queue;

VALUE guildhall_partition_queue_new(VALUE reader, const guildhall_librdkafka *library, guildhall_wakeup *wakeup,
                                    void *consumer, VALUE topic, VALUE partition, VALUE owner, VALUE codec);
guildhall_partition_queue *guildhall_partition_queue_get(VALUE self);
/* Has the reader woken when something comes into the queue. */
void guildhall_partition_queue_watch(guildhall_partition_queue *queue);
bool guildhall_partition_queue_holds(const guildhall_partition_queue *queue, const guildhall_kafka_message *message);
/* Copies the message, decoded if that can be done. Without the GVL; the message is still the caller's. False: there is no
 * memory for it, and whatever comes after it must not be handed over. */
bool guildhall_partition_queue_add(guildhall_partition_queue *queue, const guildhall_kafka_message *message);
/* This many were added. Not with each: it would wait for what the copying has yet to write. */
void guildhall_partition_queue_count(guildhall_partition_queue *queue, int32_t taken);
/* How many messages to take now, at most `most`. */
size_t guildhall_partition_queue_wanted(const guildhall_partition_queue *queue, size_t most);
/* Whether there is something to hand over. */
bool guildhall_partition_queue_holds_records(const guildhall_partition_queue *queue);
/* With the GVL. Makes Records of the entries. May raise, for want of memory or because the thread is interrupted: nothing
 * is lost, and the next call goes on. */
void guildhall_partition_queue_make_records(guildhall_partition_queue *queue);
/* What {Reader#take} returns for a partition whose Records are made. They stay here until they are handed over. */
VALUE guildhall_partition_queue_batch(const guildhall_partition_queue *queue);
void guildhall_partition_queue_handed_over(guildhall_partition_queue *queue);
/* Gives the queue back to librdkafka, drops the entries. The second time nothing happens. */
void guildhall_partition_queue_release(guildhall_partition_queue *queue);
void guildhall_init_partition_queue(VALUE reading);
void guildhall_init_kafka_reader(VALUE reading);

#endif

/* What takes messages from librdkafka: wakeup.c, record.c, literal.c, partition_queue.c, and above them reader.c. */
#ifndef GUILDHALL_KAFKA_READING_H
#define GUILDHALL_KAFKA_READING_H

#include <pthread.h>
#include <ruby.h>
#include <stdbool.h>
#include <stdint.h>
#include <guildhall/decoder.h>
#include "librdkafka.h"

/* ---- wakeup: lets one thread sleep until any of many queues has something, or somebody asks for it. Needs no GVL. */

typedef struct {
    pthread_mutex_t mutex;
    pthread_cond_t condition;
    bool notified;    /* look at the queues again */
    bool interrupted; /* return to the caller, whatever there is */
} guildhall_wakeup;

void guildhall_wakeup_init(guildhall_wakeup *wakeup);
void guildhall_wakeup_destroy(guildhall_wakeup *wakeup);
void guildhall_wakeup_notify(guildhall_wakeup *wakeup, bool interrupt);
/* The same as a callback of librdkafka's. */
void guildhall_wakeup_notify_from(void *consumer, void *wakeup);
/* Before the queues are looked at. Whether somebody interrupted since the last time. */
bool guildhall_wakeup_reset(guildhall_wakeup *wakeup);
/* Waits for a notification, an interrupt or the deadline (of guildhall_now). False at the deadline. */
bool guildhall_wakeup_wait(guildhall_wakeup *wakeup, int64_t deadline);

/* ---- record: one message. An entry is copied out of librdkafka in a single block of memory, and decoded where the topic's codec can do
 * that in C. The reader makes and owns it, without the GVL, until a Guildhall::Kafka::Record takes it over, frozen and shareable. */

typedef enum {
    GUILDHALL_ENTRY_RAW,      /* not tried to decode, or left to Ruby */
    GUILDHALL_ENTRY_DECODED,  /* `result` holds data without an owner */
    GUILDHALL_ENTRY_WRAPPING, /* a Ractor is about to make a document of it */
    GUILDHALL_ENTRY_WRAPPED,  /* it is made: a Document has taken the data over; or a whole value was made, and `result` holds the data still */
    GUILDHALL_ENTRY_INVALID   /* `result` says why */
} guildhall_entry_state;

typedef struct guildhall_kafka_entry {
    struct guildhall_kafka_entry *next;
    int64_t offset;
    int64_t timestamp_ms; /* -1: none */
    int32_t partition;
    uint32_t header_count;
    size_t payload_length;
    size_t key_length;
    size_t size; /* bytes of this block */
    const guildhall_decoder *decoder;
    guildhall_result result;
    void (*drop)(const void *, guildhall_result *); /* the decoder's `free`: the codec may be collected first, and the decoder with it */
    _Atomic guildhall_entry_state state; /* once it is decoded, any Ractor may have the document made */
    bool has_payload;
    bool has_key;
    /* Set when a Record takes the entry over, with the GVL. */
    VALUE topic;
    VALUE codec;    /* owns the decoder; false: not needed */
    VALUE document; /* what was decoded: a Document points into `bytes` and keeps the Record alive; false: there is none */
    /* the payload, the key, then each header: its name ended by a zero byte, int64_t length (-1: null), value */
    uint8_t bytes[];
} guildhall_kafka_entry;

/* With the GVL. NULL where the codec is nil, or has no native decoder. Raises TypeError where its version is another one than ours. */
const guildhall_decoder *guildhall_kafka_decoder_of(VALUE codec);
/* Without the GVL. NULL when there is no memory left. */
guildhall_kafka_entry *guildhall_kafka_entry_new(const guildhall_librdkafka *library, const guildhall_kafka_message *message,
                                                 const guildhall_decoder *decoder);
/* Of one that no Record has taken over. */
void guildhall_kafka_entry_free(guildhall_kafka_entry *entry);

/* What it counts for with the garbage collector. */
size_t guildhall_kafka_entry_bytes(const guildhall_kafka_entry *entry);
/* With the GVL. That many bytes of entries are about to become Records'. */
void guildhall_kafka_entries_adopt(size_t bytes);
/* With the GVL. A Record that takes the entry over, unless this raises. `topic` is a frozen String; `codec` owns the entry's decoder. */
VALUE guildhall_kafka_record_new(guildhall_kafka_entry *entry, VALUE topic, VALUE codec);
/* Before the first entry. */
void guildhall_init_kafka_record(VALUE guildhall, VALUE kafka);

/* ---- literal: whether bytes contain others. */

bool guildhall_contains(const uint8_t *bytes, size_t length, const uint8_t *literal, size_t size);

/* ---- Guildhall::Kafka::Reading::PartitionQueue: one partition's own queue in librdkafka, and what the reader has taken from it.
 * Only the reader's thread works on it; other threads may change what is allowed, with the GVL. */

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
    VALUE literal; /* a String: payloads that lack it, and can be decoded, are passed over; false: none is */
    const uint8_t *literal_bytes;
    size_t literal_size; /* 0: there is none */
    int64_t end; /* the offset from which on none is passed over */
    uint64_t passed_messages; /* over, since the last hand-over */
    uint64_t passed_bytes;
    int64_t passed_up_to; /* the offset behind the last of them */
    guildhall_kafka_entry *first;
    guildhall_kafka_entry **last;
    size_t count;
    size_t entry_bytes; /* of entries that the garbage collector does not know of */
    /* On their way to Ruby, with the GVL; they stay here until all of a take can be handed over. */
    VALUE records;   /* false: there are none */
    long made;       /* how many of them, before the first nil */
    size_t bytes;    /* of the records' payloads */
} guildhall_partition_queue;

VALUE guildhall_partition_queue_new(VALUE reader, const guildhall_librdkafka *library, guildhall_wakeup *wakeup,
                                    void *consumer, VALUE topic, VALUE partition, VALUE owner, VALUE codec);
/* Before the first message. Passes over messages before the offset `end` whose payloads are decoded, and contain neither the String nor a
 * backslash, which may be the beginning of one of its characters. */
void guildhall_partition_queue_pass_over(guildhall_partition_queue *queue, VALUE literal, VALUE end);
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

#endif

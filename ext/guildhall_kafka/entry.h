/* One message as the reader keeps it: copied out of librdkafka in a single block of memory, decoded where the topic's
 * codec can do that in C. Made without the GVL; owned by the reader until a Record takes it over. */
#ifndef GUILDHALL_KAFKA_ENTRY_H
#define GUILDHALL_KAFKA_ENTRY_H

#include <ruby.h>
#include <stdbool.h>
#include <guildhall/decoder.h>
#include "librdkafka.h"

typedef enum {
    GUILDHALL_ENTRY_RAW,     /* not tried to decode, or left to Ruby */
    GUILDHALL_ENTRY_DECODED, /* `result` holds data without an owner */
    GUILDHALL_ENTRY_WRAPPED, /* a document has taken the data over */
    GUILDHALL_ENTRY_INVALID  /* `result` says why */
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
    guildhall_entry_state state;
    bool has_payload;
    bool has_key;
    /* Set when a Record takes the entry over, with the GVL. */
    VALUE topic;
    VALUE codec;    /* owns the decoder; false: not needed */
    VALUE document; /* what was decoded: points into `bytes` and keeps the Record alive; false: there is none */
    /* the payload, the key, then each header: its name ended by a zero byte, int64_t length (-1: null), value */
    uint8_t bytes[];
} guildhall_kafka_entry;

/* Where entries lie. Before the first of them. */
void guildhall_init_kafka_entry(VALUE guildhall);
/* With the GVL. NULL where the codec is nil, or has no native decoder.
 * @raise [TypeError] where its version is another one than ours */
const guildhall_decoder *guildhall_kafka_decoder_of(VALUE codec);
/* NULL when there is no memory left. */
guildhall_kafka_entry *guildhall_kafka_entry_new(const guildhall_librdkafka *library, const guildhall_kafka_message *message,
                                                 const guildhall_decoder *decoder);
void guildhall_kafka_entry_free(guildhall_kafka_entry *entry);
/* Reports its size to the garbage collector. With the GVL; may collect garbage. */
void guildhall_kafka_entry_adopted(const guildhall_kafka_entry *entry);
/* As free, for one that was adopted; the garbage collector calls this. */
void guildhall_kafka_entry_collected(guildhall_kafka_entry *entry);

static inline const uint8_t *guildhall_kafka_entry_key(const guildhall_kafka_entry *entry) { return entry->bytes + entry->payload_length; }

static inline const uint8_t *guildhall_kafka_entry_headers(const guildhall_kafka_entry *entry)
{
    return guildhall_kafka_entry_key(entry) + entry->key_length;
}

#endif

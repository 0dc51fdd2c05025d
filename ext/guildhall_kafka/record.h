/* One message: an entry, which is copied out of librdkafka in a single block of memory, and decoded where the topic's codec can do that in
 * C. The reader makes and owns it, without the GVL, until a Guildhall::Kafka::Record takes it over, frozen and shareable. */
#ifndef GUILDHALL_KAFKA_RECORD_H
#define GUILDHALL_KAFKA_RECORD_H

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

/* With the GVL. NULL where the codec is nil, or has no native decoder. Raises TypeError where its version is another one than ours. */
const guildhall_decoder *guildhall_kafka_decoder_of(VALUE codec);
/* Without the GVL. NULL when there is no memory left. */
guildhall_kafka_entry *guildhall_kafka_entry_new(const guildhall_librdkafka *library, const guildhall_kafka_message *message,
                                                 const guildhall_decoder *decoder);
/* Of one that no Record has taken over. */
void guildhall_kafka_entry_free(guildhall_kafka_entry *entry);

/* With the GVL. An empty Record: what can fail comes before the entry changes hands. */
VALUE guildhall_kafka_record_new(void);
/* Takes the entry over. `topic` is a frozen String; `codec` owns the entry's decoder. */
void guildhall_kafka_record_fill(VALUE record, guildhall_kafka_entry *entry, VALUE topic, VALUE codec);
/* What the reader has decoded; nil where it has not. May raise (NoMemoryError): then guildhall_kafka_record_not_wrapped comes next, and
 * the payload is left to Ruby. */
VALUE guildhall_kafka_record_wrap(VALUE record);
void guildhall_kafka_record_not_wrapped(VALUE record);
/* Before the first entry. */
void guildhall_init_kafka_record(VALUE guildhall, VALUE kafka);

#endif

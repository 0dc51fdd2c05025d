#include "entry.h"

#include <guildhall/block_pool.h>
#include <string.h>

static const guildhall_block_pool *blocks; /* shared with the documents: the messages of a batch are let go by any thread */

void guildhall_init_kafka_entry(VALUE guildhall)
{
    const guildhall_block_pool *found = (const guildhall_block_pool *)NUM2ULL(rb_const_get(guildhall, rb_intern("NATIVE_BLOCK_POOL")));
    if (found->abi != GUILDHALL_BLOCK_POOL_ABI) rb_raise(rb_eLoadError, "guildhall-kafka and guildhall do not fit together: install the same version of both");
    blocks = found;
}

const guildhall_decoder *guildhall_kafka_decoder_of(VALUE codec)
{
    VALUE address = NIL_P(codec) ? Qnil : rb_funcall(codec, rb_intern("native_decoder"), 0);
    if (NIL_P(address)) return NULL;
    const guildhall_decoder *decoder = (const guildhall_decoder *)NUM2ULL(address);
    if (decoder->abi != GUILDHALL_DECODER_ABI || decoder->size < sizeof(guildhall_decoder)) {
        rb_raise(rb_eTypeError, "the native decoder of %+" PRIsVALUE " has version %u; this reader knows %d", codec,
                 (unsigned)decoder->abi, GUILDHALL_DECODER_ABI);
    }
    return decoder;
}

typedef struct {
    const guildhall_librdkafka *library;
    const void *list;
    size_t count;
    size_t size;
} headers;

static headers measure_headers(const guildhall_librdkafka *library, const guildhall_kafka_message *message)
{
    headers found = {.library = library};
    void *list = NULL;
    if (library->message_headers(message, &list) != 0) return found;
    const char *name;
    const void *value;
    size_t length;
    found.list = list;
    while (library->header_get_all(list, found.count, &name, &value, &length) == 0) {
        found.size += strlen(name) + 1 + sizeof(int64_t) + (value ? length : 0);
        found.count++;
    }
    return found;
}

static void copy_headers(const headers *source, uint8_t *target)
{
    const char *name;
    const void *value;
    size_t length;
    for (size_t index = 0; index < source->count; index++) {
        source->library->header_get_all(source->list, index, &name, &value, &length);
        size_t name_size = strlen(name) + 1;
        int64_t value_length = value ? (int64_t)length : -1;
        memcpy(target, name, name_size);
        memcpy(target + name_size, &value_length, sizeof(value_length));
        target += name_size + sizeof(value_length);
        if (value) {
            memcpy(target, value, length);
            target += length;
        }
    }
}

static void decode(guildhall_kafka_entry *entry, const guildhall_decoder *decoder)
{
    switch (decoder->decode(decoder->context, entry->bytes, entry->payload_length, &entry->result)) {
      case GUILDHALL_DECODED:
        entry->state = GUILDHALL_ENTRY_DECODED;
        entry->decoder = decoder;
        break;
      case GUILDHALL_INVALID:
        entry->state = GUILDHALL_ENTRY_INVALID;
        entry->decoder = decoder;
        break;
      case GUILDHALL_DEFER:
        break;
    }
}

guildhall_kafka_entry *guildhall_kafka_entry_new(const guildhall_librdkafka *library, const guildhall_kafka_message *message,
                                                 const guildhall_decoder *decoder)
{
    headers found = measure_headers(library, message);
    size_t payload_length = message->payload ? message->length : 0;
    size_t key_length = message->key ? message->key_length : 0;
    size_t size = sizeof(guildhall_kafka_entry) + payload_length + key_length + found.size;
    guildhall_kafka_entry *entry = blocks->take(size);
    if (!entry) return NULL;

    memset(entry, 0, sizeof(*entry));
    entry->size = size;
    entry->partition = message->partition;
    entry->offset = message->offset;
    entry->timestamp_ms = library->message_timestamp(message, NULL);
    entry->has_payload = message->payload != NULL;
    entry->has_key = message->key != NULL;
    entry->payload_length = payload_length;
    entry->key_length = key_length;
    entry->header_count = (uint32_t)found.count;
    if (payload_length) memcpy(entry->bytes, message->payload, payload_length);
    if (key_length) memcpy(entry->bytes + payload_length, message->key, key_length);
    if (found.count) copy_headers(&found, entry->bytes + payload_length + key_length);
    if (decoder && entry->has_payload) decode(entry, decoder);
    return entry;
}

void guildhall_kafka_entry_free(guildhall_kafka_entry *entry)
{
    if (entry->state == GUILDHALL_ENTRY_DECODED) entry->decoder->free(entry->decoder->context, &entry->result);
    blocks->give(entry, entry->size);
}

void guildhall_kafka_entry_adopted(const guildhall_kafka_entry *entry) { blocks->adopted(entry->size); }

void guildhall_kafka_entry_collected(guildhall_kafka_entry *entry)
{
    blocks->freed(entry->size);
    guildhall_kafka_entry_free(entry);
}

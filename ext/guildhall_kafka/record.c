#include "reading.h"
#include <guildhall/block_pool.h>
#include <guildhall/columns.h>
#include <guildhall/records.h>
#include <guildhall/sharing.h>
#include <ruby/encoding.h>
#include <stdatomic.h>
#include <string.h>

static VALUE Record;
static const guildhall_columns *columns;
static const guildhall_block_pool *blocks; /* shared with the documents: the messages of a batch are let go by any thread */

const guildhall_decoder *guildhall_kafka_decoder_of(VALUE codec)
{
    VALUE address = NIL_P(codec) ? Qnil : rb_funcall(codec, rb_intern("native_decoder"), 0);
    const guildhall_decoder *decoder = guildhall_decoder_at(address);
    if (decoder || NIL_P(address)) return decoder;
    rb_raise(rb_eTypeError, "the native decoder of %+" PRIsVALUE " has version %u; this reader knows %d", codec,
             (unsigned)((const guildhall_decoder *)NUM2ULL(address))->abi, GUILDHALL_DECODER_ABI);
}

/* ---- entries, without the GVL */

typedef struct {
    const guildhall_librdkafka *library;
    const void *list;
    size_t count;
    size_t size;
} headers;

static headers kafka_record_measure_headers(const guildhall_librdkafka *library, const guildhall_kafka_message *message)
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

static void kafka_record_copy_headers(const headers *source, uint8_t *target)
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
        if (!value) continue;
        memcpy(target, value, length);
        target += length;
    }
}

static void kafka_record_decode_entry(guildhall_kafka_entry *entry, const guildhall_decoder *decoder)
{
    guildhall_decoded verdict = decoder->decode(decoder->context, entry->bytes, entry->payload_length, &entry->result);
    if (verdict == GUILDHALL_DEFER) return;
    entry->state = verdict == GUILDHALL_DECODED ? GUILDHALL_ENTRY_DECODED : GUILDHALL_ENTRY_INVALID;
    entry->decoder = decoder;
    entry->drop = decoder->free;
}

guildhall_kafka_entry *guildhall_kafka_entry_new(const guildhall_librdkafka *library, const guildhall_kafka_message *message,
                                                 const guildhall_decoder *decoder)
{
    headers found = kafka_record_measure_headers(library, message);
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
    if (found.count) kafka_record_copy_headers(&found, entry->bytes + payload_length + key_length);
    if (decoder && entry->has_payload) kafka_record_decode_entry(entry, decoder);
    return entry;
}

/* Whether it owns what was decoded. Not asked while a Ractor wraps it. */
static inline bool kafka_record_holds_data(const guildhall_kafka_entry *entry)
{
    guildhall_entry_state state = atomic_load_explicit(&entry->state, memory_order_acquire);
    return state == GUILDHALL_ENTRY_DECODED || (state == GUILDHALL_ENTRY_WRAPPED && entry->result.data);
}

void guildhall_kafka_entry_free(guildhall_kafka_entry *entry)
{
    if (kafka_record_holds_data(entry)) entry->drop(NULL, &entry->result);
    blocks->give(entry, entry->size);
}

/* ---- the object */

static void kafka_record_mark(void *pointer)
{
    const guildhall_kafka_entry *entry = pointer;
    rb_gc_mark(entry->topic);
    rb_gc_mark(entry->codec);
    rb_gc_mark(entry->document);
}

/* What lies in a document is the document's. */
size_t guildhall_kafka_entry_bytes(const guildhall_kafka_entry *entry)
{
    return entry->size + (kafka_record_holds_data(entry) ? entry->result.size : 0);
}

static void kafka_record_free(void *pointer)
{
    guildhall_kafka_entry *entry = pointer;
    blocks->freed(guildhall_kafka_entry_bytes(entry));
    guildhall_kafka_entry_free(entry);
}

static size_t kafka_record_memsize(const void *pointer) { return guildhall_kafka_entry_bytes(pointer); }

/* Freed at once: freeing calls nothing of Ruby's. Write barriers: Records pile up, and without barriers each minor GC
 * would mark all of them again. */
static const rb_data_type_t record_type = {
    .wrap_struct_name = "Guildhall::Kafka::Record",
    .function = {.dmark = kafka_record_mark, .dfree = kafka_record_free, .dsize = kafka_record_memsize},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED | RUBY_TYPED_FROZEN_SHAREABLE
};

static guildhall_kafka_entry *kafka_record_entry(VALUE self) { return rb_check_typeddata(self, &record_type); }

static const uint8_t *kafka_record_bytes_in_place(VALUE self, size_t *length)
{
    const guildhall_kafka_entry *entry = RTYPEDDATA_GET_DATA(self);
    *length = entry->payload_length;
    return entry->has_payload ? entry->bytes : NULL;
}

/* @api private. Record.native_records: see guildhall/records.h. */
static VALUE kafka_record_native_records(VALUE class)
{
    static const guildhall_records records = {GUILDHALL_RECORDS_ABI, kafka_record_bytes_in_place};
    return ULL2NUM((uint64_t)(uintptr_t)&records);
}

/* A new object needs no write barrier: it is young, and nothing has marked it. */
VALUE guildhall_kafka_record_new(guildhall_kafka_entry *entry, VALUE topic, VALUE codec)
{
    entry->topic = topic;
    entry->codec = entry->decoder ? codec : Qfalse;
    entry->document = Qfalse;
    return guildhall_share(TypedData_Wrap_Struct(Record, &record_type, entry)); /* everything it refers to is shareable */
}

void guildhall_kafka_entries_adopt(size_t bytes) { blocks->adopted(bytes); }

typedef struct {
    VALUE self;
    guildhall_kafka_entry *entry;
} wrapping;

static VALUE kafka_record_wrap_now(VALUE pointer)
{
    const wrapping *of = (const wrapping *)pointer;
    guildhall_kafka_entry *entry = of->entry;
    VALUE document = entry->decoder->wrap(entry->decoder->context, &entry->result, of->self, entry->bytes, entry->payload_length);
    return guildhall_shared(of->self) ? guildhall_hand_over(document) : document;
}

/* Whoever asks first makes the document. A Ractor that asks meanwhile makes one of its own: a wait for the other one could keep it from a
 * collection that one waits for. */
static VALUE kafka_record_wrap(VALUE self, guildhall_kafka_entry *entry)
{
    guildhall_entry_state decoded = GUILDHALL_ENTRY_DECODED;
    if (!atomic_compare_exchange_strong(&entry->state, &decoded, GUILDHALL_ENTRY_WRAPPING)) {
        if (atomic_load(&entry->state) == GUILDHALL_ENTRY_WRAPPED) return entry->document;
        return guildhall_decoder_decode(entry->decoder, self, entry->bytes, entry->payload_length);
    }
    wrapping of = {self, entry};
    int raised = 0;
    size_t size = entry->result.size;
    VALUE document = rb_protect(kafka_record_wrap_now, (VALUE)&of, &raised);
    if (raised) {
        atomic_store(&entry->state, GUILDHALL_ENTRY_DECODED);
        rb_jump_tag(raised);
    }
    RB_OBJ_WRITE(self, &entry->document, document);
    atomic_store(&entry->state, GUILDHALL_ENTRY_WRAPPED);
    if (!entry->result.data) blocks->freed(size); /* the document has reported it now */
    return document;
}

/* ---- methods */

static const uint8_t *kafka_record_key_bytes(const guildhall_kafka_entry *entry) { return entry->bytes + entry->payload_length; }

/* UTF-8 where it is that, bytes where it is not. */
static VALUE kafka_record_text(const uint8_t *bytes, size_t length)
{
    VALUE string = rb_utf8_str_new((const char *)bytes, length);
    if (rb_enc_str_coderange(string) == ENC_CODERANGE_BROKEN) rb_enc_associate(string, rb_ascii8bit_encoding());
    return guildhall_share(string);
}

/* The payload's bytes, a new String each time; nil for a tombstone. */
static VALUE kafka_record_raw_payload(VALUE self)
{
    const guildhall_kafka_entry *entry = kafka_record_entry(self);
    VALUE string = entry->has_payload ? guildhall_share(rb_str_new((const char *)entry->bytes, entry->payload_length)) : Qnil;
    RB_GC_GUARD(self);
    return string;
}

/* UTF-8 where the key is valid as that, else binary; nil: there is none. */
static VALUE kafka_record_key(VALUE self)
{
    const guildhall_kafka_entry *entry = kafka_record_entry(self);
    VALUE string = entry->has_key ? kafka_record_text(kafka_record_key_bytes(entry), entry->key_length) : Qnil;
    RB_GC_GUARD(self);
    return string;
}

typedef struct {
    const char *name;
    const uint8_t *value;
    int64_t length; /* -1: null */
} header;

/* The header that begins there. Returns where the next one begins. */
static const uint8_t *kafka_record_header_at(const uint8_t *at, header *found)
{
    found->name = (const char *)at;
    at += strlen(found->name) + 1;
    memcpy(&found->length, at, sizeof(found->length));
    found->value = at + sizeof(found->length);
    return found->value + (found->length > 0 ? found->length : 0);
}

static void kafka_record_add_header(VALUE hash, VALUE name, VALUE value)
{
    VALUE present = rb_hash_lookup2(hash, name, Qundef);
    if (RB_UNDEF_P(present)) rb_hash_aset(hash, name, value);
    else if (RB_TYPE_P(present, T_ARRAY)) rb_ary_push(present, value);
    else rb_hash_aset(hash, name, rb_ary_new_from_args(2, present, value));
}

/* A Hash; several values of one name are an Array. */
static VALUE kafka_record_headers(VALUE self)
{
    const guildhall_kafka_entry *entry = kafka_record_entry(self);
    const uint8_t *at = kafka_record_key_bytes(entry) + entry->key_length;
    VALUE hash = rb_hash_new();
    header found;
    for (uint32_t index = 0; index < entry->header_count; index++) {
        at = kafka_record_header_at(at, &found);
        VALUE name = kafka_record_text((const uint8_t *)found.name, strlen(found.name));
        kafka_record_add_header(hash, name, found.length < 0 ? Qnil : kafka_record_text(found.value, (size_t)found.length));
    }
    RB_GC_GUARD(self);
    return rb_ractor_make_shareable(hash);
}

static VALUE kafka_record_topic(VALUE self) { return kafka_record_entry(self)->topic; }
static VALUE kafka_record_partition(VALUE self) { return INT2NUM(kafka_record_entry(self)->partition); }
static VALUE kafka_record_offset(VALUE self) { return LL2NUM(kafka_record_entry(self)->offset); }

/* Milliseconds since 1970; nil where the message has none. */
static VALUE kafka_record_timestamp_ms(VALUE self)
{
    int64_t milliseconds = kafka_record_entry(self)->timestamp_ms;
    return milliseconds < 0 ? Qnil : LL2NUM(milliseconds);
}

static VALUE kafka_record_timestamp(VALUE self)
{
    int64_t milliseconds = kafka_record_entry(self)->timestamp_ms;
    return milliseconds < 0 ? Qnil : rb_time_nano_new(milliseconds / 1000, (milliseconds % 1000) * 1000000);
}

/* Whether the message has no payload. */
static VALUE kafka_record_tombstone_p(VALUE self) { return kafka_record_entry(self)->has_payload ? Qfalse : Qtrue; }

/* Bytes of the payload. */
static VALUE kafka_record_size(VALUE self) { return SIZET2NUM(kafka_record_entry(self)->payload_length); }

/* Record.bytes(records): of all their payloads. */
static VALUE kafka_record_bytes(VALUE class, VALUE records)
{
    size_t bytes = 0;
    Check_Type(records, T_ARRAY);
    for (long index = 0; index < RARRAY_LEN(records); index++) bytes += kafka_record_entry(RARRAY_AREF(records, index))->payload_length;
    return SIZET2NUM(bytes);
}

static bool kafka_record_has_header(const guildhall_kafka_entry *entry, const char *wanted)
{
    const uint8_t *at = kafka_record_key_bytes(entry) + entry->key_length;
    header found;
    for (uint32_t index = 0; index < entry->header_count; index++) {
        at = kafka_record_header_at(at, &found);
        if (strcmp(found.name, wanted) == 0) return true;
    }
    return false;
}

/* Record.with_header(records, name, limit): the first `limit` records that have a header of this name. Allocates nothing for the others. */
static VALUE kafka_record_with_header(VALUE class, VALUE records, VALUE name, VALUE limit)
{
    const char *wanted = StringValueCStr(name);
    long left = NUM2LONG(limit);
    VALUE found = rb_ary_new();
    Check_Type(records, T_ARRAY);
    for (long index = 0; index < RARRAY_LEN(records) && left > 0; index++) {
        VALUE record = RARRAY_AREF(records, index);
        if (!kafka_record_has_header(kafka_record_entry(record), wanted)) continue;
        rb_ary_push(found, record);
        left--;
    }
    RB_GC_GUARD(name);
    return found;
}

/* What the reader has decoded; nil where it has not, or could not. */
static VALUE kafka_record_document(VALUE self)
{
    guildhall_kafka_entry *entry = kafka_record_entry(self);
    switch (atomic_load_explicit(&entry->state, memory_order_acquire)) {
    case GUILDHALL_ENTRY_WRAPPED: return entry->document;
    case GUILDHALL_ENTRY_DECODED: case GUILDHALL_ENTRY_WRAPPING: return kafka_record_wrap(self, entry);
    default: return Qnil;
    }
}

/* Record.documents(records): of each what its `document` is. */
static VALUE kafka_record_documents(VALUE class, VALUE records)
{
    Check_Type(records, T_ARRAY);
    long count = RARRAY_LEN(records);
    VALUE documents = rb_ary_new_capa(count);
    for (long index = 0; index < count; index++) rb_ary_push(documents, kafka_record_document(rb_ary_entry(records, index)));
    RB_GC_GUARD(records);
    return documents;
}

/* The DecodeError why the reader could not decode the payload, a new one each time; or nil. */
static VALUE kafka_record_decode_error(VALUE self)
{
    const guildhall_kafka_entry *entry = kafka_record_entry(self);
    if (entry->state != GUILDHALL_ENTRY_INVALID) return Qnil;
    const guildhall_decoder *decoder = entry->decoder;
    VALUE error = decoder->error(decoder->context, &entry->result, entry->bytes, entry->payload_length);
    RB_GC_GUARD(self);
    return error;
}

/* Whether there is a payload that the reader has left to Ruby, or has not tried to decode. */
static VALUE kafka_record_deferred_p(VALUE self)
{
    const guildhall_kafka_entry *entry = kafka_record_entry(self);
    return entry->has_payload && entry->state == GUILDHALL_ENTRY_RAW ? Qtrue : Qfalse;
}

/* decode(codec with a native decoder): what the codec returns, or raises, for {#raw_payload}. Decodes the payload where it lies, with the
 * GVL of the Ractor that calls: workers do it side by side. */
static VALUE kafka_record_decode(VALUE self, VALUE codec)
{
    const guildhall_kafka_entry *entry = kafka_record_entry(self);
    const guildhall_decoder *decoder = guildhall_kafka_decoder_of(codec);
    if (!decoder) rb_raise(rb_eTypeError, "%+" PRIsVALUE " has no native decoder", codec);
    VALUE value = guildhall_decoder_decode(decoder, self, entry->bytes, entry->payload_length);
    if (value == Qundef) value = rb_funcall(codec, rb_intern("call"), 1, kafka_record_raw_payload(self));
    RB_GC_GUARD(self);
    RB_GC_GUARD(codec);
    return value;
}

static VALUE kafka_record_inspect(VALUE self)
{
    const guildhall_kafka_entry *entry = kafka_record_entry(self);
    return rb_sprintf("#<Guildhall::Kafka::Record %" PRIsVALUE "/%d@%lld %zu bytes%s>", entry->topic, (int)entry->partition,
                      (long long)entry->offset, entry->payload_length, entry->has_payload ? "" : " tombstone");
}

/* ---- columns */

static ID id_key, id_offset, id_partition, id_topic, id_timestamp, id_timestamp_ms, id_headers, id_raw_payload, id_size;

typedef struct {
    VALUE record;
    long position;
} columns_of;

/* As the Hash of all headers has it. */
static VALUE kafka_record_header(VALUE self, VALUE name)
{
    const guildhall_kafka_entry *entry = kafka_record_entry(self);
    const uint8_t *at = kafka_record_key_bytes(entry) + entry->key_length;
    VALUE values = Qundef;
    header found;
    for (uint32_t index = 0; index < entry->header_count; index++) {
        at = kafka_record_header_at(at, &found);
        if (strlen(found.name) != (size_t)RSTRING_LEN(name) || memcmp(found.name, RSTRING_PTR(name), (size_t)RSTRING_LEN(name))) continue;
        VALUE value = found.length < 0 ? Qnil : kafka_record_text(found.value, (size_t)found.length);
        if (RB_UNDEF_P(values)) values = value;
        else if (RB_TYPE_P(values, T_ARRAY)) rb_ary_push(values, value);
        else values = rb_ary_new_from_args(2, values, value);
    }
    RB_GC_GUARD(self);
    if (RB_UNDEF_P(values)) return Qnil;
    return RB_TYPE_P(values, T_ARRAY) ? rb_ractor_make_shareable(values) : values;
}

static VALUE kafka_record_column(VALUE column, void *argument)
{
    const columns_of *of = argument;
    if (RB_TYPE_P(column, T_STRING)) return kafka_record_header(of->record, column);
    if (!RB_SYMBOL_P(column)) return rb_funcall(column, rb_intern("of"), 1, kafka_record_document(of->record));
    ID name = rb_sym2id(column);
    if (name == id_key) return kafka_record_key(of->record);
    if (name == id_offset) return kafka_record_offset(of->record);
    if (name == id_partition) return kafka_record_partition(of->record);
    if (name == id_topic) return kafka_record_topic(of->record);
    if (name == id_timestamp) return rb_ractor_make_shareable(kafka_record_timestamp(of->record));
    if (name == id_timestamp_ms) return kafka_record_timestamp_ms(of->record);
    if (name == id_headers) return kafka_record_headers(of->record);
    if (name == id_raw_payload) return kafka_record_raw_payload(of->record);
    if (name == id_size) return kafka_record_size(of->record);
    return LONG2NUM(of->position); /* :index */
}

/* Whether a row can be made here, of what the reader has decoded; else Ruby has to ask for the payload. */
static bool kafka_record_columns_source(VALUE self, const guildhall_kafka_entry *entry, guildhall_columns_source *source)
{
    source->data = NULL;
    source->document = Qnil;
    if (!entry->has_payload) return true;
    guildhall_entry_state state = atomic_load_explicit(&entry->state, memory_order_acquire);
    if (state == GUILDHALL_ENTRY_RAW || state == GUILDHALL_ENTRY_INVALID || !columns->reads(entry->decoder)) return false;
    source->bytes = entry->bytes;
    source->length = entry->payload_length;
    if (kafka_record_holds_data(entry)) source->data = entry->result.data;
    if (source->data) return true;
    source->document = kafka_record_document(self); /* another Ractor may be about to take the data */
    return RB_TYPE_P(source->document, T_DATA); /* which a codec that is not lazy does not make */
}

/* What another processor has written, and this one comes to soon. */
static inline void kafka_record_prefetch(VALUE records, long index)
{
    if (index >= RARRAY_LEN(records)) return;
    VALUE record = RARRAY_AREF(records, index);
    if (!RB_TYPE_P(record, T_DATA) || !RTYPEDDATA_P(record)) return;
    const guildhall_kafka_entry *entry = RTYPEDDATA_GET_DATA(record);
    __builtin_prefetch(entry);
    __builtin_prefetch(&entry->state);
}

typedef struct {
    VALUE records, indexes, columns, tombstones, left, rows;
    columns_of of;
} making_rows;

static VALUE kafka_record_make_rows(VALUE argument)
{
    making_rows *making = (making_rows *)argument;
    columns_of *of = &making->of;
    guildhall_columns_source source = {.other = kafka_record_column, .argument = of};
    for (; of->position < RARRAY_LEN(making->indexes); of->position++) {
        of->record = rb_ary_entry(making->records, NUM2LONG(RARRAY_AREF(making->indexes, of->position)));
        kafka_record_prefetch(making->records, of->position + 4);
        const guildhall_kafka_entry *entry = kafka_record_entry(of->record);
        if (!entry->has_payload && !RTEST(making->tombstones)) continue;
        bool here = kafka_record_columns_source(of->record, entry, &source);
        if (!here) {
            rb_ary_push(making->left, LONG2NUM(RARRAY_LEN(making->rows)));
            rb_ary_push(making->left, LONG2NUM(of->position));
        }
        rb_ary_push(making->rows, here ? columns->row(making->columns, &source) : Qnil);
    }
    return making->rows;
}

/* Record.rows(records, indexes, columns, tombstones, left): the rows of the records at these indexes, without tombstones where they are not
 * wanted. Where Ruby has to make one, it is nil, and its place among the rows and its position among the indexes are added to `left`. Where
 * one raises (a JSONPath may), its position alone is in there. */
static VALUE kafka_record_rows(VALUE class, VALUE records, VALUE indexes, VALUE wanted, VALUE tombstones, VALUE left)
{
    Check_Type(records, T_ARRAY);
    Check_Type(indexes, T_ARRAY);
    Check_Type(left, T_ARRAY);
    making_rows making = {records, indexes, wanted, tombstones, left, rb_ary_new_capa(RARRAY_LEN(indexes)), {Qnil, 0}};
    int raised = 0;
    VALUE rows = rb_protect(kafka_record_make_rows, (VALUE)&making, &raised);
    if (raised) {
        rb_ary_replace(left, rb_ary_new_from_args(1, LONG2NUM(making.of.position)));
        rb_jump_tag(raised);
    }
    return rows;
}

void guildhall_init_kafka_record(VALUE guildhall, VALUE kafka)
{
    columns = (const guildhall_columns *)NUM2ULL(rb_const_get(guildhall, rb_intern("NATIVE_COLUMNS")));
    id_key = rb_intern("key");
    id_offset = rb_intern("offset");
    id_partition = rb_intern("partition");
    id_topic = rb_intern("topic");
    id_timestamp = rb_intern("timestamp");
    id_timestamp_ms = rb_intern("timestamp_ms");
    id_headers = rb_intern("headers");
    id_raw_payload = rb_intern("raw_payload");
    id_size = rb_intern("size");
    blocks = (const guildhall_block_pool *)NUM2ULL(rb_const_get(guildhall, rb_intern("NATIVE_BLOCK_POOL")));
    if (blocks->abi != GUILDHALL_BLOCK_POOL_ABI || columns->abi != GUILDHALL_COLUMNS_ABI)
        rb_raise(rb_eLoadError, "guildhall-kafka and guildhall do not fit together: install the same version of both");
    Record = rb_define_class_under(kafka, "Record", rb_cObject);
    rb_undef_alloc_func(Record);
    rb_undef_method(CLASS_OF(Record), "new");
    rb_undef_method(Record, "dup");
    rb_undef_method(Record, "clone");
    rb_define_singleton_method(Record, "native_records", kafka_record_native_records, 0);
    rb_define_singleton_method(Record, "bytes", kafka_record_bytes, 1);
    rb_define_singleton_method(Record, "with_header", kafka_record_with_header, 3);
    rb_define_singleton_method(Record, "documents", kafka_record_documents, 1);
    rb_define_singleton_method(Record, "rows", kafka_record_rows, 5);
    rb_define_method(Record, "raw_payload", kafka_record_raw_payload, 0);
    rb_define_method(Record, "key", kafka_record_key, 0);
    rb_define_method(Record, "headers", kafka_record_headers, 0);
    rb_define_method(Record, "topic", kafka_record_topic, 0);
    rb_define_method(Record, "partition", kafka_record_partition, 0);
    rb_define_method(Record, "offset", kafka_record_offset, 0);
    rb_define_method(Record, "timestamp", kafka_record_timestamp, 0);
    rb_define_method(Record, "timestamp_ms", kafka_record_timestamp_ms, 0);
    rb_define_method(Record, "tombstone?", kafka_record_tombstone_p, 0);
    rb_define_method(Record, "size", kafka_record_size, 0);
    rb_define_method(Record, "document", kafka_record_document, 0);
    rb_define_method(Record, "decode", kafka_record_decode, 1);
    rb_define_method(Record, "deferred?", kafka_record_deferred_p, 0);
    rb_define_method(Record, "decode_error", kafka_record_decode_error, 0);
    rb_define_method(Record, "inspect", kafka_record_inspect, 0);
    rb_define_method(Record, "to_s", kafka_record_inspect, 0);
}

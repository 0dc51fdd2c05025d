#include "record.h"

#include <guildhall/records.h>
#include <guildhall/sharing.h>
#include <ruby/encoding.h>
#include <string.h>

static VALUE Record;

static void record_mark(void *pointer)
{
    const guildhall_kafka_entry *entry = pointer;
    rb_gc_mark(entry->topic);
    rb_gc_mark(entry->codec);
    rb_gc_mark(entry->document);
}

static void record_free(void *pointer) { guildhall_kafka_entry_collected(pointer); }

static size_t record_memsize(const void *pointer) { return ((const guildhall_kafka_entry *)pointer)->size; }

/* Freed at once: freeing calls nothing of Ruby's. Write barriers: Records pile up, and without barriers each minor GC
 * would mark all of them again. */
static const rb_data_type_t record_type = {
    .wrap_struct_name = "Guildhall::Kafka::Record",
    .function = {.dmark = record_mark, .dfree = record_free, .dsize = record_memsize},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED | RUBY_TYPED_FROZEN_SHAREABLE
};

static guildhall_kafka_entry *get(VALUE self) { return rb_check_typeddata(self, &record_type); }

static const uint8_t *record_bytes_in_place(VALUE self, size_t *length)
{
    const guildhall_kafka_entry *entry = RTYPEDDATA_GET_DATA(self);
    *length = entry->payload_length;
    return entry->has_payload ? entry->bytes : NULL;
}

static const guildhall_records records = {GUILDHALL_RECORDS_ABI, record_bytes_in_place};

/* @api private. Record.native_records: see guildhall/records.h. */
static VALUE record_native_records(VALUE class) { return ULL2NUM((uint64_t)(uintptr_t)&records); }

VALUE guildhall_kafka_record_new(void) { return TypedData_Wrap_Struct(Record, &record_type, NULL); }

void guildhall_kafka_record_fill(VALUE self, guildhall_kafka_entry *entry, VALUE topic, VALUE codec)
{
    entry->next = NULL;
    entry->topic = entry->codec = entry->document = Qfalse;
    RTYPEDDATA_DATA(self) = entry;
    guildhall_kafka_entry_adopted(entry);
    RB_OBJ_WRITE(self, &entry->topic, topic);
    if (entry->decoder) RB_OBJ_WRITE(self, &entry->codec, codec);
    guildhall_share(self); /* everything it refers to is shareable */
}

VALUE guildhall_kafka_record_wrap(VALUE self)
{
    guildhall_kafka_entry *entry = get(self);
    const guildhall_decoder *decoder = entry->decoder;
    if (entry->state != GUILDHALL_ENTRY_DECODED) return Qnil;
    entry->state = GUILDHALL_ENTRY_RAW; /* which it stays where wrap raises */
    VALUE document = decoder->wrap(decoder->context, &entry->result, self, entry->bytes, entry->payload_length);
    if (guildhall_shared(self)) guildhall_hand_over(document);
    entry->state = GUILDHALL_ENTRY_WRAPPED;
    RB_OBJ_WRITE(self, &entry->document, document);
    return document;
}

void guildhall_kafka_record_not_wrapped(VALUE self)
{
    guildhall_kafka_entry *entry = get(self);
    entry->decoder->free(entry->decoder->context, &entry->result);
}

static VALUE frozen_bytes(const uint8_t *bytes, size_t length) { return guildhall_share(rb_str_new((const char *)bytes, length)); }

/* UTF-8 where it is that, bytes where it is not. */
static VALUE frozen_text(const uint8_t *bytes, size_t length)
{
    VALUE string = rb_utf8_str_new((const char *)bytes, length);
    if (rb_enc_str_coderange(string) == ENC_CODERANGE_BROKEN) rb_enc_associate(string, rb_ascii8bit_encoding());
    return guildhall_share(string);
}

/* @return [String, nil] the payload's bytes; nil for a tombstone. A new String each time. */
static VALUE record_raw_payload(VALUE self)
{
    const guildhall_kafka_entry *entry = get(self);
    VALUE string = entry->has_payload ? frozen_bytes(entry->bytes, entry->payload_length) : Qnil;
    RB_GC_GUARD(self);
    return string;
}

/* @return [String, nil] UTF-8 where it is valid as that, else binary */
static VALUE record_key(VALUE self)
{
    const guildhall_kafka_entry *entry = get(self);
    VALUE string = entry->has_key ? frozen_text(guildhall_kafka_entry_key(entry), entry->key_length) : Qnil;
    RB_GC_GUARD(self);
    return string;
}

static void add_header(VALUE hash, VALUE name, VALUE value)
{
    VALUE present = rb_hash_lookup2(hash, name, Qundef);
    if (RB_UNDEF_P(present)) {
        rb_hash_aset(hash, name, value);
    }
    else if (RB_TYPE_P(present, T_ARRAY)) {
        rb_ary_push(present, value);
    }
    else {
        rb_hash_aset(hash, name, rb_ary_new_from_args(2, present, value));
    }
}

/* @return [Hash{String=>String, Array<String>}] several values of one name are an Array */
static VALUE record_headers(VALUE self)
{
    const guildhall_kafka_entry *entry = get(self);
    const uint8_t *at = guildhall_kafka_entry_headers(entry);
    VALUE hash = rb_hash_new();
    for (uint32_t index = 0; index < entry->header_count; index++) {
        size_t name_length = strlen((const char *)at);
        int64_t length;
        VALUE name = frozen_text(at, name_length);
        at += name_length + 1;
        memcpy(&length, at, sizeof(length));
        at += sizeof(length);
        add_header(hash, name, length < 0 ? Qnil : frozen_text(at, length));
        if (length > 0) at += length;
    }
    RB_GC_GUARD(self);
    return rb_ractor_make_shareable(hash);
}

/* @return [String] */
static VALUE record_topic(VALUE self) { return get(self)->topic; }

/* @return [Integer] */
static VALUE record_partition(VALUE self) { return INT2NUM(get(self)->partition); }

/* @return [Integer] */
static VALUE record_offset(VALUE self) { return LL2NUM(get(self)->offset); }

/* @return [Integer, nil] milliseconds since 1970; nil where the message has none */
static VALUE record_timestamp_ms(VALUE self)
{
    int64_t milliseconds = get(self)->timestamp_ms;
    return milliseconds < 0 ? Qnil : LL2NUM(milliseconds);
}

/* @return [Time, nil] */
static VALUE record_timestamp(VALUE self)
{
    int64_t milliseconds = get(self)->timestamp_ms;
    if (milliseconds < 0) return Qnil;
    return rb_time_nano_new(milliseconds / 1000, (milliseconds % 1000) * 1000000);
}

/* @return [Boolean] whether the message has no payload */
static VALUE record_tombstone_p(VALUE self) { return get(self)->has_payload ? Qfalse : Qtrue; }

/* @return [Integer] bytes of the payload */
static VALUE record_size(VALUE self) { return SIZET2NUM(get(self)->payload_length); }

/* @param records [Array<Record>]
 * @return [Integer] bytes of all their payloads */
static VALUE record_bytes(VALUE class, VALUE records)
{
    size_t bytes = 0;
    Check_Type(records, T_ARRAY);
    for (long index = 0; index < RARRAY_LEN(records); index++) bytes += get(RARRAY_AREF(records, index))->payload_length;
    return SIZET2NUM(bytes);
}

static bool has_header(const guildhall_kafka_entry *entry, const char *wanted)
{
    const uint8_t *at = guildhall_kafka_entry_headers(entry);
    for (uint32_t index = 0; index < entry->header_count; index++) {
        int64_t length;
        if (strcmp((const char *)at, wanted) == 0) return true;
        at += strlen((const char *)at) + 1;
        memcpy(&length, at, sizeof(length));
        at += sizeof(length) + (length > 0 ? length : 0);
    }
    return false;
}

/* Makes no object of those that have none.
 * @param records [Array<Record>]
 * @param name [String]
 * @param limit [Integer]
 * @return [Array<Record>] the first ones that have such a header, at most so many */
static VALUE record_with_header(VALUE class, VALUE records, VALUE name, VALUE limit)
{
    const char *wanted = StringValueCStr(name);
    long left = NUM2LONG(limit);
    VALUE found = rb_ary_new();
    Check_Type(records, T_ARRAY);
    for (long index = 0; index < RARRAY_LEN(records) && left > 0; index++) {
        VALUE record = RARRAY_AREF(records, index);
        if (!has_header(get(record), wanted)) continue;
        rb_ary_push(found, record);
        left--;
    }
    RB_GC_GUARD(name);
    return found;
}

/* @return [Object, nil] what the reader has decoded; nil where it has not, or could not */
static VALUE record_document(VALUE self)
{
    const guildhall_kafka_entry *entry = get(self);
    return entry->state == GUILDHALL_ENTRY_WRAPPED ? entry->document : Qnil;
}

/* @return [DecodeError, nil] why the reader could not decode the payload; a new one each time */
static VALUE record_decode_error(VALUE self)
{
    const guildhall_kafka_entry *entry = get(self);
    if (entry->state != GUILDHALL_ENTRY_INVALID) return Qnil;
    const guildhall_decoder *decoder = entry->decoder;
    VALUE error = decoder->error(decoder->context, &entry->result, entry->bytes, entry->payload_length);
    RB_GC_GUARD(self);
    return error;
}

/* @return [Boolean] whether there is a payload that the reader has left to Ruby, or has not tried to decode */
static VALUE record_deferred_p(VALUE self)
{
    const guildhall_kafka_entry *entry = get(self);
    return entry->has_payload && entry->state == GUILDHALL_ENTRY_RAW ? Qtrue : Qfalse;
}

/* Decodes the payload where it lies, with the GVL of the Ractor that calls: workers do it side by side.
 * @param codec [Codec] with a native decoder
 * @return [Object] what the codec returns for {#raw_payload}
 * @raise [DecodeError] */
static VALUE record_decode(VALUE self, VALUE codec)
{
    const guildhall_kafka_entry *entry = get(self);
    const guildhall_decoder *decoder = guildhall_kafka_decoder_of(codec);
    guildhall_result result = {0};
    VALUE value = Qnil;
    if (!decoder) rb_raise(rb_eTypeError, "%+" PRIsVALUE " has no native decoder", codec);
    switch (decoder->decode(decoder->context, entry->bytes, entry->payload_length, &result)) {
      case GUILDHALL_DECODED:
        value = guildhall_decoder_wrap(decoder, &result, self, entry->bytes, entry->payload_length);
        break;
      case GUILDHALL_INVALID:
        rb_exc_raise(decoder->error(decoder->context, &result, entry->bytes, entry->payload_length));
      case GUILDHALL_DEFER:
        value = rb_funcall(codec, rb_intern("call"), 1, record_raw_payload(self));
        break;
    }
    RB_GC_GUARD(self);
    RB_GC_GUARD(codec);
    return value;
}

/* @return [String] */
static VALUE record_inspect(VALUE self)
{
    const guildhall_kafka_entry *entry = get(self);
    return rb_sprintf("#<Guildhall::Kafka::Record %" PRIsVALUE "/%d@%lld %zu bytes%s>", entry->topic, (int)entry->partition,
                      (long long)entry->offset, entry->payload_length, entry->has_payload ? "" : " tombstone");
}

void guildhall_init_kafka_record(VALUE kafka)
{
    Record = rb_define_class_under(kafka, "Record", rb_cObject);
    rb_undef_alloc_func(Record);
    rb_undef_method(CLASS_OF(Record), "new");
    rb_undef_method(Record, "dup");
    rb_undef_method(Record, "clone");
    rb_define_singleton_method(Record, "native_records", record_native_records, 0);
    rb_define_singleton_method(Record, "bytes", record_bytes, 1);
    rb_define_singleton_method(Record, "with_header", record_with_header, 3);
    rb_define_method(Record, "raw_payload", record_raw_payload, 0);
    rb_define_method(Record, "key", record_key, 0);
    rb_define_method(Record, "headers", record_headers, 0);
    rb_define_method(Record, "topic", record_topic, 0);
    rb_define_method(Record, "partition", record_partition, 0);
    rb_define_method(Record, "offset", record_offset, 0);
    rb_define_method(Record, "timestamp", record_timestamp, 0);
    rb_define_method(Record, "timestamp_ms", record_timestamp_ms, 0);
    rb_define_method(Record, "tombstone?", record_tombstone_p, 0);
    rb_define_method(Record, "size", record_size, 0);
    rb_define_method(Record, "document", record_document, 0);
    rb_define_method(Record, "decode", record_decode, 1);
    rb_define_method(Record, "deferred?", record_deferred_p, 0);
    rb_define_method(Record, "decode_error", record_decode_error, 0);
    rb_define_method(Record, "inspect", record_inspect, 0);
    rb_define_method(Record, "to_s", record_inspect, 0);
}

#include "reading.h"
#include <ruby/ractor.h>
#include <string.h>

#define FIRST_BYTES (1u << 20) /* of a batch, before the application says how many */

static VALUE PartitionQueue;

static void kafka_partition_queue_mark(void *pointer)
{
    const guildhall_partition_queue *queue = pointer;
    rb_gc_mark(queue->reader);
    rb_gc_mark(queue->owner);
    rb_gc_mark(queue->topic);
    rb_gc_mark(queue->codec);
    rb_gc_mark(queue->records);
    rb_gc_mark(queue->literal);
}

/* The queue was given back when the reader was closed. Where it never was, the client is still there or gone: either
 * way it is too late to call into it, and the codec of the entries may be gone as well. */
static void kafka_partition_queue_free(void *pointer) { ruby_xfree(pointer); }

static const rb_data_type_t queue_type = {
    .wrap_struct_name = "Guildhall::Kafka::Reading::PartitionQueue",
    .function = {.dmark = kafka_partition_queue_mark, .dfree = kafka_partition_queue_free},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY
};

guildhall_partition_queue *guildhall_partition_queue_get(VALUE self) { return rb_check_typeddata(self, &queue_type); }

VALUE guildhall_partition_queue_new(VALUE reader, const guildhall_librdkafka *library, guildhall_wakeup *wakeup,
                                    void *consumer, VALUE topic, VALUE partition, VALUE owner, VALUE codec)
{
    guildhall_partition_queue *queue;
    VALUE self = TypedData_Make_Struct(PartitionQueue, guildhall_partition_queue, &queue_type, queue);
    queue->library = library;
    queue->wakeup = wakeup;
    queue->reader = reader;
    queue->owner = owner;
    queue->codec = codec;
    queue->last = &queue->first;
    queue->allowed_bytes = FIRST_BYTES;
    queue->partition = NUM2INT(partition);
    queue->topic = rb_str_new_frozen(topic);
    rb_ractor_make_shareable(queue->topic);
    queue->topic_name = StringValueCStr(queue->topic);
    queue->decoder = guildhall_kafka_decoder_of(codec);
    queue->queue = library->queue_get_partition(consumer, queue->topic_name, queue->partition);
    if (!queue->queue) rb_raise(rb_eRuntimeError, "librdkafka has no queue for %s/%d", queue->topic_name, (int)queue->partition);
    /* For good: librdkafka joins no queue to its own that the application has once led elsewhere. */
    library->queue_forward(queue->queue, NULL);
    guildhall_partition_queue_watch(queue);
    return self;
}

void guildhall_partition_queue_pass_over(guildhall_partition_queue *queue, VALUE literal, VALUE end)
{
    queue->end = NUM2LL(end);
    queue->literal = rb_str_new_frozen(StringValue(literal));
    queue->literal_bytes = (const uint8_t *)RSTRING_PTR(queue->literal);
    queue->literal_size = (size_t)RSTRING_LEN(queue->literal);
}

void guildhall_partition_queue_watch(guildhall_partition_queue *queue)
{
    queue->library->queue_cb_event_enable(queue->queue, guildhall_wakeup_notify_from, queue->wakeup);
}

bool guildhall_partition_queue_holds(const guildhall_partition_queue *queue, const guildhall_kafka_message *message)
{
    return message->partition == queue->partition && !queue->closed &&
           strcmp(queue->library->topic_name(message->topic), queue->topic_name) == 0;
}

/* What cannot be decoded comes to Ruby, which counts it. */
static bool kafka_partition_queue_passes_over(guildhall_partition_queue *queue, const guildhall_kafka_message *message)
{
    const guildhall_decoder *decoder = queue->decoder;
    guildhall_result result = {0};
    if (!queue->literal_size || !decoder || !message->payload || message->offset >= queue->end) return false;
    if (guildhall_contains(message->payload, message->length, queue->literal_bytes, queue->literal_size)) return false;
    if (memchr(message->payload, '\\', message->length)) return false;
    if (decoder->decode(decoder->context, message->payload, message->length, &result) != GUILDHALL_DECODED) return false;
    decoder->free(decoder->context, &result);
    queue->passed_messages++;
    queue->passed_bytes += message->length;
    queue->passed_up_to = message->offset + 1;
    return true;
}

bool guildhall_partition_queue_add(guildhall_partition_queue *queue, const guildhall_kafka_message *message)
{
    if (kafka_partition_queue_passes_over(queue, message)) return true;
    guildhall_kafka_entry *entry = guildhall_kafka_entry_new(queue->library, message, queue->decoder);
    if (!entry) return false;
    *queue->last = entry;
    queue->last = &entry->next;
    queue->count++;
    queue->entry_bytes += guildhall_kafka_entry_bytes(entry);
    queue->average_size = queue->average_size ? (queue->average_size * 7 + entry->size) / 8 : entry->size;
    return true;
}

bool guildhall_partition_queue_holds_records(const guildhall_partition_queue *queue)
{
    return !queue->closed && (queue->count || queue->records || queue->passed_messages);
}

void guildhall_partition_queue_count(guildhall_partition_queue *queue, int32_t taken)
{
    __atomic_sub_fetch(&queue->allowed, taken, __ATOMIC_RELAXED);
}

size_t guildhall_partition_queue_wanted(const guildhall_partition_queue *queue, size_t most)
{
    int32_t allowed = __atomic_load_n(&queue->allowed, __ATOMIC_RELAXED);
    size_t most_bytes = __atomic_load_n(&queue->allowed_bytes, __ATOMIC_RELAXED);
    size_t bytes_left = most_bytes > queue->count * queue->average_size ? most_bytes - queue->count * queue->average_size : 0;
    size_t fitting = queue->average_size ? bytes_left / queue->average_size + 1 : 1;
    if (queue->closed || allowed <= 0 || (queue->count && !bytes_left)) return 0;
    if ((size_t)allowed < most) most = (size_t)allowed;
    return fitting < most ? fitting : most;
}

/* What can fail comes before an entry changes hands. */
void guildhall_partition_queue_make_records(guildhall_partition_queue *queue)
{
    if (!queue->records) queue->records = rb_ary_new_capa((long)queue->count);
    rb_ary_resize(queue->records, queue->made + (long)queue->count);
    guildhall_kafka_entries_adopt(queue->entry_bytes); /* may collect garbage */
    queue->entry_bytes = 0;
    while (queue->first) {
        guildhall_kafka_entry *entry = queue->first;
        RARRAY_ASET(queue->records, queue->made, guildhall_kafka_record_new(entry, queue->topic, queue->codec));
        queue->made++;
        queue->first = entry->next;
        __builtin_prefetch(queue->first); /* written by another processor perhaps, and a while ago */
        queue->count--;
        if (!queue->first) queue->last = &queue->first;
        queue->bytes += entry->payload_length;
    }
}

VALUE guildhall_partition_queue_batch(const guildhall_partition_queue *queue)
{
    VALUE batch = rb_ary_new_from_args(4, queue->owner, queue->records, SIZET2NUM(queue->bytes), queue->decoder ? Qtrue : Qfalse);
    if (!queue->passed_messages) return batch;
    return rb_ary_push(batch, rb_ary_new_from_args(3, ULL2NUM(queue->passed_messages), ULL2NUM(queue->passed_bytes),
                                                   LL2NUM(queue->passed_up_to)));
}

void guildhall_partition_queue_handed_over(guildhall_partition_queue *queue)
{
    queue->records = Qfalse;
    queue->made = 0;
    queue->bytes = 0;
    queue->passed_messages = queue->passed_bytes = 0;
}

void guildhall_partition_queue_release(guildhall_partition_queue *queue)
{
    queue->closed = true;
    while (queue->first) {
        guildhall_kafka_entry *entry = queue->first;
        queue->first = entry->next;
        guildhall_kafka_entry_free(entry);
    }
    queue->last = &queue->first;
    queue->count = queue->entry_bytes = 0;
    guildhall_partition_queue_handed_over(queue);
    if (!queue->queue) return;
    /* Under the queue's lock: once this is through, no callback is under way. */
    queue->library->queue_cb_event_enable(queue->queue, NULL, NULL);
    queue->library->queue_destroy(queue->queue);
    queue->queue = NULL;
}

/* allow(messages, bytes): lets the reader take that many messages until the next call; 0: none; about as many bytes in one batch, but at
 * least one message; when left out, as before. Any thread of the main Ractor. */
static VALUE kafka_partition_queue_allow(int argc, VALUE *argv, VALUE self)
{
    guildhall_partition_queue *queue = guildhall_partition_queue_get(self);
    rb_check_arity(argc, 1, 2);
    int32_t count = NUM2INT(argv[0]);
    if (queue->closed) return Qnil;
    if (argc > 1) __atomic_store_n(&queue->allowed_bytes, NUM2SIZET(argv[1]), __ATOMIC_RELAXED);
    int32_t before = __atomic_exchange_n(&queue->allowed, count, __ATOMIC_RELAXED);
    if (before <= 0 && count > 0) guildhall_wakeup_notify(queue->wakeup, false);
    return Qnil;
}

/* What was taken and not handed over is dropped. The reader lets go of the queue when it next takes: it may be at work
 * on it now, below us on the stack. Only in the reader's thread. */
static VALUE kafka_partition_queue_close(VALUE self)
{
    guildhall_partition_queue_get(self)->closed = true;
    return Qnil;
}

static VALUE kafka_partition_queue_closed_p(VALUE self) { return guildhall_partition_queue_get(self)->closed ? Qtrue : Qfalse; }

void guildhall_init_partition_queue(VALUE reading)
{
    PartitionQueue = rb_define_class_under(reading, "PartitionQueue", rb_cObject);
    rb_undef_alloc_func(PartitionQueue);
    rb_undef_method(CLASS_OF(PartitionQueue), "new");
    rb_define_method(PartitionQueue, "allow", kafka_partition_queue_allow, -1);
    rb_define_method(PartitionQueue, "close", kafka_partition_queue_close, 0);
    rb_define_method(PartitionQueue, "closed?", kafka_partition_queue_closed_p, 0);
}

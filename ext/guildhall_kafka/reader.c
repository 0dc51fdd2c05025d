/* Guildhall::Kafka::Reading::Reader: takes messages from librdkafka's queues without the GVL. */
#include "reading.h"
#include "sender.h"
#include <guildhall/platform.h>
#include <ruby/ractor.h>
#include <ruby/thread.h>
#include <stdlib.h>

#define BATCH 1024

/* Everything but `wakeup` belongs to the thread that takes. What was taken stays in here until Ruby has it, so that an
 * exception between the two loses nothing. */
typedef struct {
    guildhall_librdkafka library;
    guildhall_wakeup wakeup;
    void *consumer;
    void *main_queue; /* NULL: closed */
    VALUE *queues;    /* PartitionQueues: kept alive here, and touched with the GVL only */
    guildhall_partition_queue **sources; /* what each of them holds, for use without it */
    size_t queue_count;
    size_t queue_capacity;
    guildhall_kafka_message **errors; /* as they came */
    size_t error_count;
    int64_t deadline;
    int64_t room_messages; /* for all partitions together, in this take */
    int64_t room_bytes;
    size_t first_queue; /* which partition is the first to be read */
    bool taking;
    bool no_memory; /* what came next could not be kept: nothing is handed over any more */
    guildhall_kafka_message *messages[BATCH];
} reader;

static VALUE ReadError;

static void kafka_reader_mark(void *pointer)
{
    const reader *reader = pointer;
    for (size_t index = 0; index < reader->queue_count; index++) rb_gc_mark(reader->queues[index]);
}

/* If the reader was not closed, its client was not closed either: callbacks may still use the memory, so it is not freed. */
static void kafka_reader_free(void *pointer)
{
    reader *reader = pointer;
    if (reader->main_queue) return;
    guildhall_wakeup_destroy(&reader->wakeup);
    free(reader->errors);
    ruby_xfree(reader->queues);
    ruby_xfree(reader->sources);
    ruby_xfree(reader);
}

static const rb_data_type_t reader_type = {
    .wrap_struct_name = "Guildhall::Kafka::Reading::Reader",
    .function = {.dmark = kafka_reader_mark, .dfree = kafka_reader_free},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY
};

static reader *kafka_reader_of(VALUE self) { return rb_check_typeddata(self, &reader_type); }

static reader *kafka_reader_check_open(VALUE self)
{
    reader *reader = kafka_reader_of(self);
    if (!reader->main_queue) rb_raise(rb_eIOError, "this reader is closed");
    return reader;
}

static VALUE kafka_reader_allocate(VALUE class)
{
    reader *reader;
    VALUE self = TypedData_Make_Struct(class, __typeof__(*reader), &reader_type, reader);
    guildhall_wakeup_init(&reader->wakeup);
    return self;
}

/* new(address of librdkafka's consumer, addresses of Reader::FUNCTIONS) */
static VALUE kafka_reader_initialize(VALUE self, VALUE consumer, VALUE addresses)
{
    reader *reader = kafka_reader_of(self);
    guildhall_librdkafka library;
    guildhall_librdkafka_load(&library, sizeof(library), addresses);
    if (reader->consumer) rb_raise(rb_eRuntimeError, "already initialised");
    reader->consumer = (void *)NUM2ULL(consumer);
    reader->library = library;
    reader->main_queue = reader->library.queue_get_consumer(reader->consumer);
    reader->library.queue_cb_event_enable(reader->main_queue, guildhall_wakeup_notify_from, &reader->wakeup);
    return self;
}

/* open(topic, partition, owner, codec or nil, literal or nil, end) → a PartitionQueue, from which nothing is taken until
 * PartitionQueue#allow. From now on takes the partition's messages from its own queue. Before it is assigned: what comes earlier is taken
 * whole, whatever the queue allows. With a literal, messages before the offset `end` whose JSON can be decoded and lacks it are passed over. */
static VALUE kafka_reader_open(int argc, VALUE *argv, VALUE self)
{
    reader *reader = kafka_reader_check_open(self);
    rb_check_arity(argc, 3, 6);
    if (reader->queue_count == reader->queue_capacity) {
        size_t capacity = reader->queue_capacity ? 2 * reader->queue_capacity : 16;
        REALLOC_N(reader->queues, VALUE, capacity);
        REALLOC_N(reader->sources, guildhall_partition_queue *, capacity);
        reader->queue_capacity = capacity; /* once both of them have it */
    }
    VALUE queue = guildhall_partition_queue_new(self, &reader->library, &reader->wakeup, reader->consumer, argv[0], argv[1],
                                                argv[2], argc > 3 ? argv[3] : Qnil);
    if (argc > 5 && !NIL_P(argv[4])) guildhall_partition_queue_pass_over(guildhall_partition_queue_get(queue), argv[4], argv[5]);
    reader->sources[reader->queue_count] = guildhall_partition_queue_get(queue);
    reader->queues[reader->queue_count++] = queue;
    return queue;
}

/* ---- Without the GVL. A rebalance callback may take it meanwhile and call open and close: queues may come while
 * these loops run, but none goes until the next take. ---- */

static guildhall_partition_queue *kafka_reader_queue_of(const reader *reader, const guildhall_kafka_message *message)
{
    for (size_t index = 0; index < reader->queue_count; index++) {
        guildhall_partition_queue *queue = reader->sources[index];
        if (guildhall_partition_queue_holds(queue, message)) return queue;
    }
    return NULL;
}

static void kafka_reader_keep_error(reader *reader, guildhall_kafka_message *message)
{
    guildhall_kafka_message **errors = realloc(reader->errors, (reader->error_count + 1) * sizeof(*errors));
    if (errors) {
        reader->errors = errors;
        errors[reader->error_count++] = message;
    } else {
        reader->no_memory = true;
        reader->library.message_destroy(message);
    }
}

/* A message's memory is a whole fetch response: it is copied and released at once. Messages of a
 * partition that is not expected belong to one that was revoked meanwhile. */
static size_t kafka_reader_read_queue(reader *reader, void *source, guildhall_partition_queue *expected, size_t most)
{
    ssize_t count = reader->library.consume_batch_queue(source, 0, reader->messages, most);
    int32_t as_expected = 0;
    for (ssize_t index = 0; index < count; index++) {
        guildhall_kafka_message *message = reader->messages[index];
        if (index + 1 < count) __builtin_prefetch(reader->messages[index + 1]->payload);
        if (index + 2 < count) __builtin_prefetch(reader->messages[index + 2]);
        if (message->error) {
            kafka_reader_keep_error(reader, message);
            continue;
        }
        guildhall_partition_queue *queue = expected;
        if (!queue || !guildhall_partition_queue_holds(queue, message)) queue = kafka_reader_queue_of(reader, message);
        if (queue && !reader->no_memory) {
            if (!guildhall_partition_queue_add(queue, message)) reader->no_memory = true;
            if (queue == expected) as_expected++; else guildhall_partition_queue_count(queue, 1);
        }
        reader->room_messages--;
        reader->room_bytes -= (int64_t)message->length;
        reader->library.message_destroy(message);
    }
    if (as_expected) guildhall_partition_queue_count(expected, as_expected);
    return count < 0 ? 0 : (size_t)count;
}

static bool kafka_reader_has_room(const reader *reader)
{
    return reader->room_messages > 0 && reader->room_bytes > 0 && !reader->no_memory;
}

/* Another one first each time: where there is not room for all, all get some in turn. */
static void kafka_reader_read_partitions(reader *reader)
{
    size_t count = reader->queue_count;
    size_t first = reader->first_queue++;
    for (size_t step = 0; step < count && kafka_reader_has_room(reader); step++) {
        guildhall_partition_queue *queue = reader->sources[(first + step) % count];
        size_t wanted;
        while (kafka_reader_has_room(reader) && (wanted = guildhall_partition_queue_wanted(queue, BATCH)) > 0) {
            if (kafka_reader_read_queue(reader, queue->queue, queue, wanted) == 0) break;
        }
    }
}

static bool kafka_reader_something_taken(const reader *reader)
{
    if (reader->error_count || reader->no_memory) return true;
    for (size_t index = 0; index < reader->queue_count; index++) {
        if (guildhall_partition_queue_holds_records(reader->sources[index])) return true;
    }
    return false;
}

static void *kafka_reader_read_until_taken(void *argument)
{
    reader *reader = argument;
    for (;;) {
        bool interrupted = guildhall_wakeup_reset(&reader->wakeup);
        /* The main queue first, until it is empty: rebalances, errors, and what was fetched of a partition that was opened too late. */
        while (kafka_reader_read_queue(reader, reader->main_queue, NULL, BATCH) > 0) {}
        kafka_reader_read_partitions(reader);
        if (interrupted || kafka_reader_something_taken(reader)) return NULL;
        if (!guildhall_wakeup_wait(&reader->wakeup, reader->deadline)) return NULL;
    }
}

static void kafka_reader_unblock(void *wakeup) { guildhall_wakeup_notify(wakeup, true); }

/* ---- With the GVL ---- */

/* A partition that went and came back within one take has two queues here, of which librdkafka knows but one: the wakeup
 * that the first one's release takes away is the second one's as well. */
static void kafka_reader_release_closed(reader *reader)
{
    size_t kept = 0, before = reader->queue_count;
    for (size_t index = 0; index < reader->queue_count; index++) {
        guildhall_partition_queue *queue = reader->sources[index];
        if (queue->closed) {
            guildhall_partition_queue_release(queue);
            continue;
        }
        reader->sources[kept] = queue;
        reader->queues[kept++] = reader->queues[index];
    }
    reader->queue_count = kept;
    if (kept == before) return;
    for (size_t index = 0; index < kept; index++) guildhall_partition_queue_watch(reader->sources[index]);
}

static VALUE kafka_reader_errors_of(const reader *reader)
{
    VALUE errors = rb_ary_new();
    for (size_t index = 0; index < reader->error_count; index++) {
        const guildhall_kafka_message *message = reader->errors[index];
        VALUE arguments[] = {INT2NUM(message->error), guildhall_librdkafka_text(reader->library.message_errstr(message)),
                             guildhall_librdkafka_text(message->topic ? reader->library.topic_name(message->topic) : NULL),
                             INT2NUM(message->partition), LL2NUM(message->offset)};
        rb_ary_push(errors, rb_funcallv(ReadError, rb_intern("new"), 5, arguments));
    }
    return errors;
}

static void kafka_reader_drop_errors(reader *reader)
{
    for (size_t index = 0; index < reader->error_count; index++) reader->library.message_destroy(reader->errors[index]);
    reader->error_count = 0;
}

/* Whatever raises in here comes before anything is let go of: the next take hands it over. */
static VALUE kafka_reader_hand_over(reader *reader)
{
    if (reader->no_memory)
        rb_raise(rb_eRuntimeError, "no memory for the next message: close this reader, and read from the last commit on");
    VALUE batches = rb_ary_new();
    for (size_t index = 0; index < reader->queue_count; index++) {
        guildhall_partition_queue *queue = reader->sources[index];
        if (!guildhall_partition_queue_holds_records(queue)) continue;
        guildhall_partition_queue_make_records(queue);
        rb_ary_push(batches, guildhall_partition_queue_batch(queue));
    }
    VALUE taken = rb_assoc_new(batches, kafka_reader_errors_of(reader));
    /* What was allocated off the GVL counts for the GC, but only allocations by Ruby make it look at the count. */
    if (RARRAY_LEN(batches)) ruby_xfree(ruby_xmalloc(1));
    for (size_t index = 0; index < reader->queue_count; index++) guildhall_partition_queue_handed_over(reader->sources[index]);
    kafka_reader_drop_errors(reader);
    return taken;
}

static VALUE kafka_reader_take_and_hand_over(VALUE self)
{
    reader *reader = kafka_reader_of(self);
    if (!kafka_reader_something_taken(reader)) {
        /* What handle_interrupt has put off until something blocks would not end the wait. Nothing is taken yet. */
        rb_thread_check_ints();
        rb_nogvl(kafka_reader_read_until_taken, reader, kafka_reader_unblock, &reader->wakeup, RB_NOGVL_INTR_FAIL);
        if (!kafka_reader_something_taken(reader)) rb_thread_check_ints();
    }
    return kafka_reader_hand_over(reader);
}

static VALUE kafka_reader_stop_taking(VALUE self)
{
    kafka_reader_of(self)->taking = false;
    return Qnil;
}

/* Blocks until there is a message, an error or a {#wake}, or the time is over; interruptible. Rebalance callbacks run
 * in here. One thread at a time.
 * @param timeout_ms [Integer]
 * @param messages [Integer, nil] about how many to take of all partitions together; 0: none; nil: what each allows
 * @param bytes [Integer, nil] and how many bytes
 * @return [Array(Array<Array(Object, Array<Record>, Integer, Boolean)>, Array<ReadError>)] for each partition: its owner, records, the
 *   bytes of their payloads, and whether they were decoded, as far as they can be. Where messages were passed over also how many, their
 *   bytes, and the offset behind the last of them
 * @raise [RuntimeError] once a message could not be kept for want of memory: nothing comes any more */
static VALUE kafka_reader_take(int argc, VALUE *argv, VALUE self)
{
    VALUE timeout_ms, messages, bytes;
    reader *reader = kafka_reader_check_open(self);
    rb_scan_args(argc, argv, "12", &timeout_ms, &messages, &bytes);
    if (reader->taking) rb_raise(rb_eThreadError, "another thread is taking from this reader");
    reader->room_messages = NIL_P(messages) ? INT64_MAX : NUM2LL(messages);
    reader->room_bytes = NIL_P(bytes) ? INT64_MAX : NUM2LL(bytes);
    reader->deadline = guildhall_now() + NUM2LL(timeout_ms) * 1000000;
    kafka_reader_release_closed(reader);
    reader->taking = true;
    return rb_ensure(kafka_reader_take_and_hand_over, self, kafka_reader_stop_taking, self);
}

/* Ends a {#take} that waits. Any thread of the main Ractor. */
static VALUE kafka_reader_wake(VALUE self)
{
    guildhall_wakeup_notify(&kafka_reader_of(self)->wakeup, true);
    return Qnil;
}

/* Gives all queues back; before the client is closed. What was taken and not handed over is dropped. */
static VALUE kafka_reader_close(VALUE self)
{
    reader *reader = kafka_reader_of(self);
    if (!reader->main_queue) return Qnil;
    if (reader->taking) rb_raise(rb_eThreadError, "close this reader in the thread that takes from it");
    for (size_t index = 0; index < reader->queue_count; index++) guildhall_partition_queue_release(reader->sources[index]);
    reader->queue_count = 0;
    kafka_reader_drop_errors(reader);
    reader->library.queue_cb_event_enable(reader->main_queue, NULL, NULL);
    reader->library.queue_destroy(reader->main_queue);
    reader->main_queue = NULL;
    return Qnil;
}

static void kafka_reader_define(VALUE reading)
{
    VALUE class = rb_define_class_under(reading, "Reader", rb_cObject);
    ReadError = rb_const_get(reading, rb_intern("ReadError"));
    rb_gc_register_mark_object(ReadError);
    rb_define_alloc_func(class, kafka_reader_allocate);
    rb_define_method(class, "initialize", kafka_reader_initialize, 2);
    rb_define_method(class, "open", kafka_reader_open, -1);
    rb_define_method(class, "take", kafka_reader_take, -1);
    rb_define_method(class, "wake", kafka_reader_wake, 0);
    rb_define_method(class, "close", kafka_reader_close, 0);
}

/* Loaded by guildhall/kafka/reading.rb, after ReadError. */
RUBY_FUNC_EXPORTED void Init_native(void)
{
    rb_ext_ractor_safe(true);
    VALUE guildhall = rb_define_module("Guildhall");
    VALUE kafka = rb_define_module_under(guildhall, "Kafka");
    guildhall_init_kafka_record(guildhall, kafka);
    VALUE reading = rb_define_module_under(kafka, "Reading");
    guildhall_init_partition_queue(reading);
    kafka_reader_define(reading);
    guildhall_init_kafka_sender(guildhall, kafka);
    guildhall_init_kafka_destruction(kafka);
}

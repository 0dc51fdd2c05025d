/* Guildhall::Kafka::Producing::Sender: hands messages over to librdkafka and takes its delivery reports, many at a time and without a
 * call of Ruby for each. Its Deliveries: the messages of one call, and what has become of each. */
#include "sender.h"
#include <guildhall/platform.h>
#include <ruby/thread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define REPORTS 1024
#define UNDELIVERED_AT_ONCE 10000 /* of which one poll tells */
#define FATAL (-150) /* librdkafka's code for: this client does nothing more */
#define COPY 2 /* RD_KAFKA_MSG_F_COPY */
#define MOST_MILLISECONDS ((int64_t)1 << 53)

/* Of librdkafka's public interface: the same in every version. */
enum { TOPIC = 1, PARTITION = 3, VALUE_BYTES = 4, KEY = 5, OPAQUE = 6, FLAGS = 7, TIMESTAMP = 8, HEADER = 9 };
enum { DELIVERY_REPORT = 1, LOG = 4, STATISTICS = 0x40, FAILURE = 8, TOKEN_REFRESH = 0x100 };

typedef struct {
    int type;
    union {
        const char *text;
        int flags;
        int32_t partition;
        int64_t timestamp;
        struct { const void *bytes; size_t size; } memory;
        struct { const char *name; const void *bytes; ssize_t size; } header;
        void *pointer;
        char padding[64];
    } as;
} argument;

/* In the order of Sender::FUNCTIONS. */
typedef struct {
    void *(*produceva)(void *producer, const argument *arguments, size_t count);
    int (*error_code)(const void *error);
    int (*error_is_fatal)(const void *error);
    void (*error_destroy)(void *error);
    const char *(*topic_name)(const void *topic);
    void *(*queue_get_main)(void *producer);
    void (*queue_destroy)(void *queue);
    void (*queue_yield)(void *queue);
    void *(*queue_poll)(void *queue, int timeout_ms);
    int (*event_type)(const void *event);
    size_t (*event_message_array)(void *event, const guildhall_kafka_message **messages, size_t size);
    void (*event_destroy)(void *event);
    int (*event_error)(void *event);
    const char *(*event_error_string)(void *event);
    int (*event_log)(void *event, const char **facility, const char **text, int *level);
    const char *(*event_stats)(void *event);
    const char *(*event_config_string)(void *event);
} functions;

/* What threads wait for, with its lock. Lives as long as anything refers to it. */
typedef struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    unsigned waiting;     /* threads; under the lock */
    atomic_size_t holders; /* the Sender, and Deliveries */
    pid_t pid;            /* of the process whose threads notify */
} news;

typedef struct deliveries deliveries;

typedef struct {
    deliveries *of;
    int64_t offset; /* -1: none */
    int32_t partition;
    int32_t error; /* of librdkafka */
    atomic_bool done;
} delivery;

struct deliveries {
    news *news;
    atomic_size_t holders; /* Ruby's object, and each message that is on its way */
    atomic_size_t pending; /* messages */
    size_t taken;  /* messages that librdkafka has: the first ones */
    bool awaited;  /* somebody waits for them, and tells of those that fail */
    size_t size;
    delivery each[];
};

typedef struct undelivered {
    struct undelivered *next;
    int32_t partition;
    int32_t error;
    char topic[];
} undelivered;

typedef struct {
    functions library;
    news *news;
    void *producer; /* NULL: closed */
    void *queue;
    void *event; /* that Ruby has yet to be told of */
    undelivered *undelivered, **last_undelivered;
    size_t undelivered_count;
    int64_t deadline;
    bool polling;
    atomic_bool interrupted;
    const guildhall_kafka_message *reports[REPORTS];
} sender;

static VALUE ArgumentError;
static ID id_topic, id_payload, id_key, id_partition, id_timestamp, id_headers, id_refuse, id_is_a, id_to_i, id_to_time;

/* ---- News ---- */

static news *kafka_sender_news_new(void)
{
    news *news = calloc(1, sizeof(*news)); /* freed without the GVL */
    if (!news) rb_memerror();
    pthread_mutex_init(&news->mutex, NULL);
    guildhall_condition_init(&news->changed);
    atomic_init(&news->holders, 1);
    news->pid = getpid();
    return news;
}

static void kafka_sender_news_release(news *news)
{
    if (atomic_fetch_sub(&news->holders, 1) != 1) return;
    pthread_cond_destroy(&news->changed);
    pthread_mutex_destroy(&news->mutex);
    free(news);
}

static void kafka_sender_news_tell(news *news)
{
    pthread_mutex_lock(&news->mutex);
    if (news->waiting) pthread_cond_broadcast(&news->changed);
    pthread_mutex_unlock(&news->mutex);
}

/* ---- Deliveries ---- */

static void kafka_sender_deliveries_release(deliveries *deliveries)
{
    if (atomic_fetch_sub(&deliveries->holders, 1) != 1) return;
    kafka_sender_news_release(deliveries->news);
    free(deliveries);
}

static void kafka_sender_deliveries_free(void *pointer) { if (pointer) kafka_sender_deliveries_release(pointer); }

static size_t kafka_sender_deliveries_memory(const void *pointer)
{
    const deliveries *deliveries = pointer;
    return deliveries ? sizeof(*deliveries) + deliveries->size * sizeof(delivery) : 0;
}

static const rb_data_type_t deliveries_type = {
    .wrap_struct_name = "Guildhall::Kafka::Producing::Sender::Deliveries",
    .function = {.dfree = kafka_sender_deliveries_free, .dsize = kafka_sender_deliveries_memory},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY
};

static deliveries *kafka_sender_deliveries_of(VALUE self) { return rb_check_typeddata(self, &deliveries_type); }

static VALUE kafka_sender_deliveries_new(VALUE class, news *news, size_t size, bool awaited)
{
    VALUE self = TypedData_Wrap_Struct(class, &deliveries_type, NULL);
    deliveries *deliveries = calloc(1, sizeof(*deliveries) + size * sizeof(delivery));
    if (!deliveries) rb_memerror();
    atomic_init(&deliveries->holders, 1);
    atomic_init(&deliveries->pending, 0);
    atomic_fetch_add(&news->holders, 1);
    deliveries->news = news;
    deliveries->size = size;
    deliveries->awaited = awaited;
    DATA_PTR(self) = deliveries;
    return self;
}

static const delivery *kafka_sender_deliveries_at(VALUE self, VALUE index)
{
    const deliveries *deliveries = kafka_sender_deliveries_of(self);
    size_t at = NUM2SIZET(index);
    if (at >= deliveries->taken) rb_raise(rb_eIndexError, "message %zu was not handed over", at);
    return &deliveries->each[at];
}

/* @return [Integer] how many of the messages librdkafka has taken: the first ones */
static VALUE kafka_sender_deliveries_taken(VALUE self) { return SIZET2NUM(kafka_sender_deliveries_of(self)->taken); }

/* @return [Integer] messages that are on their way */
static VALUE kafka_sender_deliveries_pending(VALUE self) { return SIZET2NUM(atomic_load(&kafka_sender_deliveries_of(self)->pending)); }

/* @return [Boolean] whether this message is on its way */
static VALUE kafka_sender_deliveries_is_pending(VALUE self, VALUE index) { return atomic_load(&kafka_sender_deliveries_at(self, index)->done) ? Qfalse : Qtrue; }

/* @return [Array(Integer, Integer, Integer), nil] librdkafka's code (0: delivered), the partition and the offset (-1: unknown);
 *   nil: it is on its way */
static VALUE kafka_sender_deliveries_outcome(VALUE self, VALUE index)
{
    const delivery *delivery = kafka_sender_deliveries_at(self, index);
    if (!atomic_load(&delivery->done)) return Qnil;
    return rb_ary_new_from_args(3, INT2NUM(delivery->error), INT2NUM(delivery->partition), LL2NUM(delivery->offset));
}

typedef struct {
    const deliveries *deliveries;
    const delivery *one; /* NULL: all of them */
    int64_t deadline;
    bool interrupted;
} patience;

static bool kafka_sender_deliveries_settled(const patience *patience)
{
    return patience->one ? atomic_load(&patience->one->done) : atomic_load(&patience->deliveries->pending) == 0;
}

static void *kafka_sender_deliveries_wait_without_gvl(void *argument)
{
    patience *patience = argument;
    news *news = patience->deliveries->news;
    int late = 0;
    pthread_mutex_lock(&news->mutex);
    news->waiting++;
    while (!kafka_sender_deliveries_settled(patience) && !patience->interrupted && !late)
        late = guildhall_condition_wait(&news->changed, &news->mutex, patience->deadline);
    news->waiting--;
    pthread_mutex_unlock(&news->mutex);
    return NULL;
}

static void kafka_sender_deliveries_interrupt(void *argument)
{
    patience *patience = argument;
    news *news = patience->deliveries->news;
    pthread_mutex_lock(&news->mutex);
    patience->interrupted = true;
    pthread_cond_broadcast(&news->changed);
    pthread_mutex_unlock(&news->mutex);
}

/* Blocks until a message, or all of them, have arrived or failed; interruptible. Any thread of the main Ractor.
 * @param index [Integer, nil] nil: all
 * @param seconds [Float]
 * @return [Boolean, nil] false: the time is over; nil: this process was forked from the one that produced them, and is not told */
static VALUE kafka_sender_deliveries_wait(VALUE self, VALUE index, VALUE seconds)
{
    patience patience = {.deliveries = kafka_sender_deliveries_of(self), .one = NIL_P(index) ? NULL : kafka_sender_deliveries_at(self, index)};
    double limit = NUM2DBL(seconds);
    patience.deadline = guildhall_now() + (int64_t)((limit > 1e9 ? 1e9 : limit) * GUILDHALL_NS_PER_S);
    while (!kafka_sender_deliveries_settled(&patience)) {
        if (patience.deliveries->news->pid != getpid()) return Qnil;
        if (guildhall_now() >= patience.deadline) return Qfalse;
        patience.interrupted = false;
        rb_thread_call_without_gvl(kafka_sender_deliveries_wait_without_gvl, &patience, kafka_sender_deliveries_interrupt, &patience);
        rb_thread_check_ints();
    }
    RB_GC_GUARD(self);
    return Qtrue;
}

/* ---- The sender ---- */

static void kafka_sender_drop_undelivered(sender *sender)
{
    while (sender->undelivered) {
        undelivered *one = sender->undelivered;
        sender->undelivered = one->next;
        free(one);
    }
    sender->last_undelivered = &sender->undelivered;
    sender->undelivered_count = 0;
}

static void kafka_sender_free(void *pointer)
{
    sender *sender = pointer;
    kafka_sender_drop_undelivered(sender);
    if (sender->news) kafka_sender_news_release(sender->news);
    ruby_xfree(sender);
}

static const rb_data_type_t sender_type = {
    .wrap_struct_name = "Guildhall::Kafka::Producing::Sender",
    .function = {.dfree = kafka_sender_free},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY
};

static sender *kafka_sender_of(VALUE self) { return rb_check_typeddata(self, &sender_type); }

static sender *kafka_sender_check_open(VALUE self)
{
    sender *sender = kafka_sender_of(self);
    if (!sender->producer) rb_raise(rb_eIOError, "this producer is closed");
    return sender;
}

static VALUE kafka_sender_allocate(VALUE class)
{
    sender *sender;
    VALUE self = TypedData_Make_Struct(class, __typeof__(*sender), &sender_type, sender);
    sender->last_undelivered = &sender->undelivered;
    return self;
}

/* @param producer [Integer] the address of librdkafka's producer, which tells of deliveries by events
 * @param addresses [Array<Integer>] of {FUNCTIONS} */
static VALUE kafka_sender_initialize(VALUE self, VALUE producer, VALUE addresses)
{
    sender *sender = kafka_sender_of(self);
    functions library;
    guildhall_librdkafka_load(&library, sizeof(library), addresses);
    if (sender->producer) rb_raise(rb_eRuntimeError, "already initialised");
    sender->news = kafka_sender_news_new();
    sender->library = library;
    sender->producer = (void *)NUM2ULL(producer);
    sender->queue = library.queue_get_main(sender->producer);
    return self;
}

/* ---- Handing over ---- */

static VALUE kafka_sender_message_field(VALUE hash, ID name, size_t *found)
{
    VALUE value = rb_hash_lookup2(hash, ID2SYM(name), Qundef);
    if (value == Qundef) return Qnil;
    (*found)++;
    return value;
}

static VALUE kafka_sender_name(VALUE name) { return SYMBOL_P(name) ? rb_sym2str(name) : name; }

/* As brokers allow it; without NUL. */
static bool kafka_sender_topic_allowed(VALUE topic)
{
    if (!RB_TYPE_P(topic, T_STRING) || RSTRING_LEN(topic) < 1 || RSTRING_LEN(topic) > 249) return false;
    for (const char *at = RSTRING_PTR(topic), *end = at + RSTRING_LEN(topic); at < end; at++) {
        bool letter = (*at | 32) >= 'a' && (*at | 32) <= 'z', digit = *at >= '0' && *at <= '9';
        if (!letter && !digit && *at != '.' && *at != '_' && *at != '-') return false;
    }
    return true;
}

static bool kafka_sender_bytes_or_nil(VALUE value) { return NIL_P(value) || RB_TYPE_P(value, T_STRING); }

/* Whose text Ruby has itself: asking another object for it may run code of the user's, amid a batch that is half handed over. */
static bool kafka_sender_header_value_allowed(VALUE value)
{
    return NIL_P(value) || RB_TYPE_P(value, T_STRING) || SYMBOL_P(value) || RB_INTEGER_TYPE_P(value) || RB_FLOAT_TYPE_P(value) ||
           value == Qtrue || value == Qfalse;
}

static int kafka_sender_look_at_header(VALUE name, VALUE value, VALUE allowed)
{
    bool good;
    name = kafka_sender_name(name);
    good = RB_TYPE_P(name, T_STRING) && !memchr(RSTRING_PTR(name), 0, (size_t)RSTRING_LEN(name));
    if (!RB_TYPE_P(value, T_ARRAY)) good = good && kafka_sender_header_value_allowed(value);
    else for (long index = 0; good && index < RARRAY_LEN(value); index++) good = kafka_sender_header_value_allowed(RARRAY_AREF(value, index));
    if (good) return ST_CONTINUE;
    *(bool *)allowed = false;
    return ST_STOP;
}

/* Names without NUL, and values that are texts, numbers or nil, or Arrays of these. */
static bool kafka_sender_headers_allowed(VALUE headers)
{
    bool allowed = true;
    if (NIL_P(headers)) return true;
    if (!RB_TYPE_P(headers, T_HASH)) return false;
    rb_hash_foreach(headers, kafka_sender_look_at_header, (VALUE)&allowed);
    return allowed;
}

/* Milliseconds since 1970; librdkafka takes the time of now for 0.
 * @return [Boolean] false: it is no time that Kafka has */
static bool kafka_sender_milliseconds(VALUE timestamp, int64_t *milliseconds)
{
    *milliseconds = 0;
    if (NIL_P(timestamp)) return true;
    if (FIXNUM_P(timestamp)) return (*milliseconds = FIX2LONG(timestamp)) >= 0 && *milliseconds <= MOST_MILLISECONDS;
    if (!rb_obj_is_kind_of(timestamp, rb_cTime)) { /* Rails' times say that they are one */
        if (!RTEST(rb_funcall(timestamp, id_is_a, 1, rb_cTime))) return false;
        timestamp = rb_funcall(timestamp, id_to_time, 0);
        if (!rb_obj_is_kind_of(timestamp, rb_cTime)) return false;
    }
    VALUE seconds = rb_funcall(timestamp, id_to_i, 0);
    if (!FIXNUM_P(seconds) || FIX2LONG(seconds) < 0 || FIX2LONG(seconds) > MOST_MILLISECONDS / 1000) return false;
    *milliseconds = (int64_t)FIX2LONG(seconds) * 1000 + rb_time_timespec(timestamp).tv_nsec / 1000000;
    return true;
}

/* @param number [int32_t] -1: the partitioner decides */
static bool kafka_sender_partition(VALUE partition, int32_t *number)
{
    *number = -1;
    if (NIL_P(partition)) return true;
    if (!FIXNUM_P(partition) || FIX2LONG(partition) < -1 || FIX2LONG(partition) > INT32_MAX) return false;
    *number = (int32_t)FIX2LONG(partition);
    return true;
}

/* What a message's Hash has. */
typedef struct {
    VALUE topic, payload, key, headers;
    int64_t timestamp;
    int32_t partition;
} fields;

static void kafka_sender_refuse(VALUE self, VALUE hash)
{
    rb_funcall(self, id_refuse, 1, hash);
    rb_raise(ArgumentError, "this message cannot be produced");
}

static fields kafka_sender_message_fields(VALUE self, VALUE hash)
{
    size_t found = 0;
    if (!RB_TYPE_P(hash, T_HASH)) kafka_sender_refuse(self, hash);
    fields fields = {
        .topic = kafka_sender_name(kafka_sender_message_field(hash, id_topic, &found)), .payload = kafka_sender_message_field(hash, id_payload, &found),
        .key = kafka_sender_message_field(hash, id_key, &found), .headers = kafka_sender_message_field(hash, id_headers, &found)
    };
    VALUE partition = kafka_sender_message_field(hash, id_partition, &found), timestamp = kafka_sender_message_field(hash, id_timestamp, &found);
    if (found != RHASH_SIZE(hash) || !kafka_sender_topic_allowed(fields.topic) || !kafka_sender_bytes_or_nil(fields.payload) ||
        !kafka_sender_bytes_or_nil(fields.key) || !kafka_sender_partition(partition, &fields.partition) ||
        !kafka_sender_headers_allowed(fields.headers) || !kafka_sender_milliseconds(timestamp, &fields.timestamp))
        kafka_sender_refuse(self, hash);
    return fields;
}

static void kafka_sender_header_add(VALUE texts, VALUE name, VALUE value)
{
    name = kafka_sender_name(name);
    StringValueCStr(name); /* has a NUL behind it from now on */
    rb_ary_push(texts, name);
    rb_ary_push(texts, NIL_P(value) ? Qnil : rb_obj_as_string(value));
}

static int kafka_sender_header_of(VALUE name, VALUE value, VALUE texts)
{
    if (!RB_TYPE_P(value, T_ARRAY)) {
        kafka_sender_header_add(texts, name, value);
        return ST_CONTINUE;
    }
    for (long index = 0; index < RARRAY_LEN(value); index++) kafka_sender_header_add(texts, name, RARRAY_AREF(value, index));
    return ST_CONTINUE;
}

static argument kafka_sender_bytes(int type, VALUE bytes)
{
    argument made = {.type = type};
    if (NIL_P(bytes)) return made;
    made.as.memory.bytes = RSTRING_PTR(bytes);
    made.as.memory.size = (size_t)RSTRING_LEN(bytes);
    return made;
}

static argument kafka_sender_header(VALUE name, VALUE value)
{
    argument made = {.type = HEADER};
    made.as.header.name = RSTRING_PTR(name);
    if (NIL_P(value)) return made;
    made.as.header.bytes = RSTRING_PTR(value);
    made.as.header.size = RSTRING_LEN(value);
    return made;
}

#define FIELDS 7
#define ON_STACK (FIELDS + 8)

/* First all that may call Ruby, allocate or raise. Then the pointers, which a collection would move: from there on to librdkafka's copies
 * nothing of that kind happens, nor can another thread close the producer.
 * @return librdkafka's code */
static int kafka_sender_send(sender *sender, VALUE self, VALUE hash, deliveries *deliveries)
{
    fields fields = kafka_sender_message_fields(self, hash);
    VALUE texts = Qnil, memory = Qnil; /* names and values of headers, by turns */
    if (!NIL_P(fields.headers) && RHASH_SIZE(fields.headers) > 0)
        rb_hash_foreach(fields.headers, kafka_sender_header_of, texts = rb_ary_new_capa(2 * (long)RHASH_SIZE(fields.headers)));
    StringValueCStr(fields.topic);
    size_t count = FIELDS + (NIL_P(texts) ? 0 : (size_t)RARRAY_LEN(texts) / 2);
    argument on_stack[ON_STACK], *arguments = on_stack;
    if (count > ON_STACK) {
        memory = rb_str_buf_new((long)(count * sizeof(argument))); /* collected, whatever raises */
        arguments = (argument *)RSTRING_PTR(memory);
    }
    if (!sender->producer) return FATAL; /* closed meanwhile */

    delivery *delivery = &deliveries->each[deliveries->taken];
    *delivery = (__typeof__(*delivery)){.of = deliveries, .offset = -1, .partition = -1};
    arguments[0] = (argument){.type = TOPIC, .as.text = RSTRING_PTR(fields.topic)};
    arguments[1] = (argument){.type = PARTITION, .as.partition = fields.partition};
    arguments[2] = (argument){.type = FLAGS, .as.flags = COPY};
    arguments[3] = (argument){.type = OPAQUE, .as.pointer = delivery};
    arguments[4] = (argument){.type = TIMESTAMP, .as.timestamp = fields.timestamp};
    arguments[5] = kafka_sender_bytes(VALUE_BYTES, fields.payload);
    arguments[6] = kafka_sender_bytes(KEY, fields.key);
    for (size_t index = FIELDS; index < count; index++) {
        long at = 2 * (long)(index - FIELDS);
        arguments[index] = kafka_sender_header(RARRAY_AREF(texts, at), RARRAY_AREF(texts, at + 1));
    }
    atomic_fetch_add(&deliveries->holders, 1);
    atomic_fetch_add(&deliveries->pending, 1);
    void *error = sender->library.produceva(sender->producer, arguments, count);
    int code = 0;
    if (error) {
        code = sender->library.error_is_fatal(error) ? FATAL : sender->library.error_code(error);
        sender->library.error_destroy(error);
        atomic_fetch_sub(&deliveries->pending, 1);
        kafka_sender_deliveries_release(deliveries);
    }
    RB_GC_GUARD(memory);
    RB_GC_GUARD(texts);
    RB_GC_GUARD(fields.topic);
    RB_GC_GUARD(hash);
    return code;
}

/* Does not wait for a broker. Any thread of the main Ractor.
 * @param messages [Array<Hash{Symbol=>Object}>] topic (String, Symbol), payload, key (String, nil), partition (Integer, nil), timestamp
 *   (Integer, nil; milliseconds, Time), headers (Hash, nil)
 * @param made [Deliveries, nil] of an earlier call with the same messages, whose rest comes now; nil: the first call
 * @param awaited [Boolean] whether the caller tells of messages that fail, and {#poll} does not
 * @return [Array(Deliveries, Integer)] librdkafka's code: 0: all were taken; otherwise why the next one was not. _FATAL also where
 *   this producer was closed meanwhile, or the rest is that of another one
 * @raise [Guildhall::ArgumentError] for a message that is none: nothing was taken */
static VALUE kafka_sender_hand_over(VALUE self, VALUE messages, VALUE made, VALUE awaited)
{
    sender *sender = kafka_sender_check_open(self);
    Check_Type(messages, T_ARRAY);
    if (NIL_P(made)) {
        /* Before any is sent; one alone is looked at when it is sent. */
        for (long index = 0; RARRAY_LEN(messages) > 1 && index < RARRAY_LEN(messages); index++)
            kafka_sender_message_fields(self, RARRAY_AREF(messages, index));
        VALUE class = rb_const_get(rb_class_of(self), rb_intern("Deliveries"));
        made = kafka_sender_deliveries_new(class, sender->news, (size_t)RARRAY_LEN(messages), RTEST(awaited));
    }
    deliveries *deliveries = kafka_sender_deliveries_of(made);
    int code = deliveries->news == sender->news ? 0 : FATAL;
    while (code == 0 && deliveries->taken < deliveries->size && deliveries->taken < (size_t)RARRAY_LEN(messages)) {
        code = kafka_sender_send(sender, self, RARRAY_AREF(messages, (long)deliveries->taken), deliveries);
        if (code == 0) deliveries->taken++;
    }
    return rb_assoc_new(made, INT2NUM(code));
}

/* ---- Reports, without the GVL ---- */

static void kafka_sender_note_undelivered(sender *sender, const guildhall_kafka_message *report)
{
    const char *topic = sender->library.topic_name(report->topic);
    size_t size = strlen(topic) + 1;
    undelivered *one = malloc(sizeof(*one) + size);
    if (!one) return;
    one->next = NULL;
    one->partition = report->partition;
    one->error = report->error;
    memcpy(one->topic, topic, size);
    *sender->last_undelivered = one;
    sender->last_undelivered = &one->next;
    sender->undelivered_count++;
}

static void kafka_sender_take_report(sender *sender, const guildhall_kafka_message *report)
{
    delivery *delivery = report->private;
    deliveries *deliveries = delivery->of;
    if (report->error && !deliveries->awaited) kafka_sender_note_undelivered(sender, report);
    delivery->error = report->error;
    delivery->partition = report->partition;
    delivery->offset = report->error ? -1 : report->offset;
    atomic_store(&delivery->done, true);
    atomic_fetch_sub(&deliveries->pending, 1);
    kafka_sender_deliveries_release(deliveries);
}

static void kafka_sender_take_reports(sender *sender, void *event)
{
    size_t count;
    while ((count = sender->library.event_message_array(event, sender->reports, REPORTS)) > 0) {
        for (size_t index = 0; index < count; index++) kafka_sender_take_report(sender, sender->reports[index]);
    }
    kafka_sender_news_tell(sender->news);
}

static void *kafka_sender_poll_without_gvl(void *argument)
{
    sender *sender = argument;
    while (!sender->event && sender->undelivered_count < UNDELIVERED_AT_ONCE) {
        int64_t left = (sender->deadline - guildhall_now()) / 1000000;
        bool wait = left > 0 && !sender->undelivered && !atomic_load(&sender->interrupted);
        void *event = sender->library.queue_poll(sender->queue, wait ? (int)left : 0);
        if (!event) {
            if (!wait) break;
            continue;
        }
        if (sender->library.event_type(event) == DELIVERY_REPORT) {
            kafka_sender_take_reports(sender, event);
            sender->library.event_destroy(event);
        } else {
            sender->event = event;
        }
    }
    return NULL;
}

static void kafka_sender_interrupt(void *argument)
{
    sender *sender = argument;
    atomic_store(&sender->interrupted, true);
    sender->library.queue_yield(sender->queue);
}

/* ---- With the GVL ---- */

static VALUE kafka_sender_event_told(const sender *sender)
{
    const functions *library = &sender->library;
    int level = 0;
    const char *facility = NULL, *text = NULL;
    switch (library->event_type(sender->event)) {
    case FAILURE:
        return rb_ary_new_from_args(3, ID2SYM(rb_intern("error")), INT2NUM(library->event_error(sender->event)),
                                    guildhall_librdkafka_text(library->event_error_string(sender->event)));
    case LOG:
        library->event_log(sender->event, &facility, &text, &level);
        return rb_ary_new_from_args(4, ID2SYM(rb_intern("log")), INT2NUM(level), guildhall_librdkafka_text(facility), guildhall_librdkafka_text(text));
    case STATISTICS:
        return rb_ary_new_from_args(2, ID2SYM(rb_intern("statistics")), guildhall_librdkafka_text(library->event_stats(sender->event)));
    case TOKEN_REFRESH:
        return rb_ary_new_from_args(2, ID2SYM(rb_intern("token")), guildhall_librdkafka_text(library->event_config_string(sender->event)));
    default:
        return Qnil;
    }
}

static VALUE kafka_sender_poll_and_tell(VALUE self)
{
    sender *sender = kafka_sender_of(self);
    VALUE told = rb_ary_new();
    if (!sender->event && !sender->undelivered) {
        rb_thread_check_ints();
        rb_nogvl(kafka_sender_poll_without_gvl, sender, kafka_sender_interrupt, sender, RB_NOGVL_INTR_FAIL);
        atomic_store(&sender->interrupted, false); /* afterwards: a wake that came before ends this poll */
    }
    for (const undelivered *one = sender->undelivered; one; one = one->next) {
        rb_ary_push(told, rb_ary_new_from_args(4, ID2SYM(rb_intern("undelivered")), INT2NUM(one->error), guildhall_librdkafka_text(one->topic),
                                               INT2NUM(one->partition)));
    }
    kafka_sender_drop_undelivered(sender);
    if (sender->event) {
        VALUE event = kafka_sender_event_told(sender);
        if (!NIL_P(event)) rb_ary_push(told, event);
        sender->library.event_destroy(sender->event);
        sender->event = NULL;
    }
    return told;
}

static VALUE kafka_sender_stop_polling(VALUE self)
{
    kafka_sender_of(self)->polling = false;
    return Qnil;
}

/* Takes delivery reports, until there is something that Ruby has to be told of, or the time is over; interruptible. One thread at a
 * time; without it nothing is known to be delivered.
 * @param seconds [Float]
 * @return [Array<Array>] `[:undelivered, code, topic, partition]` for messages that nobody awaits, `[:error, code, text]`,
 *   `[:log, level, facility, text]`, `[:statistics, json]`, `[:token, settings]` */
static VALUE kafka_sender_poll(VALUE self, VALUE seconds)
{
    sender *sender = kafka_sender_check_open(self);
    if (sender->polling) rb_raise(rb_eThreadError, "another thread polls this producer");
    sender->deadline = guildhall_now() + (int64_t)(NUM2DBL(seconds) * GUILDHALL_NS_PER_S);
    sender->polling = true;
    return rb_ensure(kafka_sender_poll_and_tell, self, kafka_sender_stop_polling, self);
}

/* Ends a {#poll} that waits.
 * @return [void] */
static VALUE kafka_sender_wake(VALUE self)
{
    sender *sender = kafka_sender_of(self);
    if (sender->producer) kafka_sender_interrupt(sender);
    return Qnil;
}

/* Gives the queue back, before librdkafka's producer is destroyed. What is on its way then stays so for ever: purge first.
 * @return [void] */
static VALUE kafka_sender_close(VALUE self)
{
    sender *sender = kafka_sender_of(self);
    if (!sender->producer) return Qnil;
    if (sender->polling) rb_raise(rb_eThreadError, "another thread polls this producer");
    if (sender->event) sender->library.event_destroy(sender->event);
    sender->event = NULL;
    sender->library.queue_destroy(sender->queue);
    sender->producer = NULL;
    return Qnil;
}

void guildhall_init_kafka_sender(VALUE guildhall, VALUE kafka)
{
    VALUE producing = rb_define_module_under(kafka, "Producing");
    VALUE class = rb_define_class_under(producing, "Sender", rb_cObject);
    VALUE many = rb_define_class_under(class, "Deliveries", rb_cObject);
    ArgumentError = rb_const_get(guildhall, rb_intern("ArgumentError"));
    rb_gc_register_mark_object(ArgumentError);
    id_topic = rb_intern("topic");
    id_payload = rb_intern("payload");
    id_key = rb_intern("key");
    id_partition = rb_intern("partition");
    id_timestamp = rb_intern("timestamp");
    id_headers = rb_intern("headers");
    id_refuse = rb_intern("refuse");
    id_is_a = rb_intern("is_a?");
    id_to_i = rb_intern("to_i");
    id_to_time = rb_intern("to_time");
    rb_define_alloc_func(class, kafka_sender_allocate);
    rb_define_method(class, "initialize", kafka_sender_initialize, 2);
    rb_define_method(class, "hand_over", kafka_sender_hand_over, 3);
    rb_define_method(class, "poll", kafka_sender_poll, 1);
    rb_define_method(class, "wake", kafka_sender_wake, 0);
    rb_define_method(class, "close", kafka_sender_close, 0);
    rb_undef_alloc_func(many);
    rb_define_method(many, "taken", kafka_sender_deliveries_taken, 0);
    rb_define_method(many, "pending", kafka_sender_deliveries_pending, 0);
    rb_define_method(many, "pending?", kafka_sender_deliveries_is_pending, 1);
    rb_define_method(many, "outcome", kafka_sender_deliveries_outcome, 1);
    rb_define_method(many, "wait", kafka_sender_deliveries_wait, 2);
}

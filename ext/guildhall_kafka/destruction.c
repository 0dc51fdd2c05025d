/* Guildhall::Kafka::Broker::Destruction: destroys a client of librdkafka's in a native thread. librdkafka may take for ever, and where a
 * thread of Ruby's waits for that, a process does not end, not even by a signal: Ruby waits for its threads. */
#include "librdkafka.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

typedef struct {
    void (*destroy)(void *client);
    void *client;
    atomic_bool done;
} destruction;

/* The thread may still need it: then it stays. */
static void kafka_destruction_free(void *pointer)
{
    destruction *destruction = pointer;
    if (destruction && atomic_load(&destruction->done)) free(destruction);
}

static const rb_data_type_t destruction_type = {
    .wrap_struct_name = "Guildhall::Kafka::Broker::Destruction",
    .function = {.dfree = kafka_destruction_free},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY
};

static void *kafka_destruction_run(void *argument)
{
    destruction *destruction = argument;
    destruction->destroy(destruction->client);
    atomic_store(&destruction->done, true);
    return NULL;
}

/* The new thread has no signals: they are for Ruby's threads. */
static int kafka_destruction_begin(destruction *destruction)
{
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int problem = pthread_create(&thread, NULL, kafka_destruction_run, destruction);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!problem) pthread_detach(thread);
    return problem;
}

/* Begins. Does not block.
 * @param client [Integer] the address of librdkafka's client
 * @param destroy [Integer] the address of rd_kafka_destroy
 * @raise [ThreadError] when the system has no thread for it */
static VALUE kafka_destruction_new(VALUE class, VALUE client, VALUE destroy)
{
    VALUE self = TypedData_Wrap_Struct(class, &destruction_type, NULL);
    void *address = (void *)NUM2ULL(client), *function = (void *)NUM2ULL(destroy);
    destruction *destruction = calloc(1, sizeof(*destruction));
    if (!destruction) rb_memerror();
    *destruction = (__typeof__(*destruction)){.destroy = (void (*)(void *))function, .client = address};
    if (kafka_destruction_begin(destruction)) {
        free(destruction);
        rb_raise(rb_eThreadError, "no thread in which a client of librdkafka could be destroyed");
    }
    DATA_PTR(self) = destruction;
    return self;
}

/* @return [Boolean] */
static VALUE kafka_destruction_is_done(VALUE self)
{
    destruction *destruction = rb_check_typeddata(self, &destruction_type);
    return atomic_load(&destruction->done) ? Qtrue : Qfalse;
}

void guildhall_init_kafka_destruction(VALUE kafka)
{
    VALUE class = rb_define_class_under(rb_define_module_under(kafka, "Broker"), "Destruction", rb_cObject);
    rb_undef_alloc_func(class);
    rb_define_singleton_method(class, "new", kafka_destruction_new, 2);
    rb_define_method(class, "done?", kafka_destruction_is_done, 0);
}

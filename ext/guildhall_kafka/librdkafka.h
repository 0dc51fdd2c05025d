/* The part of librdkafka's public interface that the reader calls, reached by address in the library that the gem
 * karafka-rdkafka has loaded: no header and no second library are needed. */
#ifndef GUILDHALL_KAFKA_LIBRDKAFKA_H
#define GUILDHALL_KAFKA_LIBRDKAFKA_H

#include <ruby.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* rd_kafka_message_t: public, and the same in every version. */
typedef struct {
    int error; /* 0: a message; otherwise payload is a text about it */
    void *topic;
    int32_t partition;
    void *payload;
    size_t length;
    void *key;
    size_t key_length;
    int64_t offset;
    void *private;
} guildhall_kafka_message;

/* In the order of Guildhall::Kafka::Reading::Reader::FUNCTIONS. */
typedef struct {
    ssize_t (*consume_batch_queue)(void *queue, int timeout_ms, guildhall_kafka_message **messages, size_t size);
    void (*message_destroy)(guildhall_kafka_message *message);
    int64_t (*message_timestamp)(const guildhall_kafka_message *message, int *type);
    int (*message_headers)(const guildhall_kafka_message *message, void **headers);
    int (*header_get_all)(const void *headers, size_t index, const char **name, const void **value, size_t *size);
    const char *(*topic_name)(const void *topic);
    const char *(*message_errstr)(const guildhall_kafka_message *message);
    void *(*queue_get_consumer)(void *consumer);
    void *(*queue_get_partition)(void *consumer, const char *topic, int32_t partition);
    void (*queue_forward)(void *source, void *destination);
    void (*queue_destroy)(void *queue);
    void (*queue_cb_event_enable)(void *queue, void (*callback)(void *consumer, void *opaque), void *opaque);
} guildhall_librdkafka;

/* Fills a struct of function pointers, in order. `bytes`: of the struct. */
static inline void guildhall_librdkafka_load(void *functions, size_t bytes, VALUE addresses)
{
    Check_Type(addresses, T_ARRAY);
    if ((size_t)RARRAY_LEN(addresses) != bytes / sizeof(void *)) rb_raise(rb_eArgError, "not the functions that are needed");
    for (long index = 0; index < RARRAY_LEN(addresses); index++) {
        ((void **)functions)[index] = (void *)NUM2ULL(rb_ary_entry(addresses, index));
    }
}

/* See destruction.c. */
void guildhall_init_kafka_destruction(VALUE kafka);

static inline VALUE guildhall_librdkafka_text(const char *text) { return text ? rb_utf8_str_new_cstr(text) : Qnil; }

#endif

/* What a caller in C does with a codec's native decoder: decodes on threads that have no GVL, wraps with it. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <ruby.h>
#include <ruby/thread.h>
#include <guildhall/decoder.h>

#define THREADS 4

typedef struct {
    const guildhall_decoder *decoder;
    const uint8_t *bytes;
    size_t length;
    long rounds;
    guildhall_result result;
    guildhall_decoded verdict;
} work;

/* All rounds but the last are dropped again, which needs no GVL either. */
static void *decode_in_thread(void *pointer)
{
    work *w = pointer;
    for (long round = 1;; round++) {
        w->verdict = w->decoder->decode(w->decoder->context, w->bytes, w->length, &w->result);
        if (round >= w->rounds) return NULL;
        if (w->verdict == GUILDHALL_DECODED) w->decoder->free(w->decoder->context, &w->result);
    }
}

static void *decode_in_threads(void *pointer)
{
    work *works = pointer;
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, decode_in_thread, &works[i]);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    return NULL;
}

static const guildhall_decoder *decoder_at(VALUE address) { return (const guildhall_decoder *)(uintptr_t)NUM2ULL(address); }

/* What each of four threads made of the bytes: an object, the error, or :deferred. */
static VALUE decode(VALUE self, VALUE address, VALUE bytes, VALUE rounds)
{
    work works[THREADS];
    VALUE all = rb_ary_new();
    for (int i = 0; i < THREADS; i++) {
        works[i] = (work){decoder_at(address), (const uint8_t *)RSTRING_PTR(bytes), (size_t)RSTRING_LEN(bytes), NUM2LONG(rounds), {0}, 0};
    }
    rb_thread_call_without_gvl(decode_in_threads, works, RUBY_UBF_IO, NULL);
    for (int i = 0; i < THREADS; i++) {
        const guildhall_decoder *decoder = works[i].decoder;
        rb_ary_push(all, works[i].verdict == GUILDHALL_DEFER ? ID2SYM(rb_intern("deferred"))
                             : works[i].verdict == GUILDHALL_DECODED
                             ? decoder->wrap(decoder->context, &works[i].result, bytes, works[i].bytes, works[i].length)
                             : decoder->error(decoder->context, &works[i].result, works[i].bytes, works[i].length));
    }
    RB_GC_GUARD(bytes);
    return all;
}

static VALUE header(VALUE self, VALUE address)
{
    const guildhall_decoder *decoder = decoder_at(address);
    return rb_ary_new_from_args(2, UINT2NUM(decoder->abi), decoder->size == sizeof *decoder ? Qtrue : Qfalse);
}

/* A decoder whose results cannot be wrapped. */
static _Atomic long made, freed;

static guildhall_decoded decode_blindly(const void *context, const uint8_t *bytes, size_t length, guildhall_result *result)
{
    made++;
    result->data = malloc(result->size = 1000);
    return GUILDHALL_DECODED;
}

static VALUE wrap_nothing(const void *context, guildhall_result *result, VALUE owner, const uint8_t *bytes, size_t length)
{
    rb_raise(rb_eNoMemError, "no memory to wrap");
}

static VALUE no_error(const void *context, const guildhall_result *result, const uint8_t *bytes, size_t length) { return Qnil; }

static void free_result(const void *context, guildhall_result *result)
{
    freed++;
    free(result->data);
}

static const guildhall_decoder unwrappable = {GUILDHALL_DECODER_ABI, sizeof(guildhall_decoder), NULL, decode_blindly, wrap_nothing, no_error,
                                              free_result, NULL};

static VALUE unwrappable_address(VALUE self) { return ULL2NUM((uintptr_t)&unwrappable); }

static VALUE counts(VALUE self) { return rb_ary_new_from_args(2, LONG2NUM(made), LONG2NUM(freed)); }

void Init_decoder_probe(void)
{
    VALUE probe = rb_define_module("DecoderProbe");
    rb_define_singleton_method(probe, "decode", decode, 3);
    rb_define_singleton_method(probe, "header", header, 1);
    rb_define_singleton_method(probe, "unwrappable", unwrappable_address, 0);
    rb_define_singleton_method(probe, "counts", counts, 0);
}

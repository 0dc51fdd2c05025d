/* What a piece of a program does, counted: the same on every machine, however busy it is. To be preloaded, and then required as an
 * extension of Ruby: WorkCount.measure { … } → [steps, bytes].
 *
 * A step is a jump of an extension that is built with -fsanitize-coverage=trace-pc, a line or a call of Ruby code, 16 bytes that are
 * copied, compared, searched or filled, or a request for memory. bytes: of all that was asked for, Ruby's objects included. What is
 * freed is not counted, so both only grow. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <ruby.h>
#include <ruby/debug.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BYTES_A_STEP 16

static __thread uint64_t steps __attribute__((tls_model("initial-exec"))), allocated __attribute__((tls_model("initial-exec")));

void __sanitizer_cov_trace_pc(void) { steps++; }

static inline void touched(size_t bytes) { steps += 1 + bytes / BYTES_A_STEP; }

static inline void asked(size_t bytes)
{
    steps++;
    allocated += bytes;
}

static void *(*real_memcpy)(void *, const void *, size_t);
static void *(*real_memmove)(void *, const void *, size_t);
static void *(*real_memset)(void *, int, size_t);
static int (*real_memcmp)(const void *, const void *, size_t);
static void *(*real_memchr)(const void *, int, size_t);

__attribute__((constructor)) static void find_real_ones(void)
{
    *(void **)&real_memmove = dlsym(RTLD_NEXT, "memmove");
    *(void **)&real_memset = dlsym(RTLD_NEXT, "memset");
    *(void **)&real_memcmp = dlsym(RTLD_NEXT, "memcmp");
    *(void **)&real_memchr = dlsym(RTLD_NEXT, "memchr");
    *(void **)&real_memcpy = dlsym(RTLD_NEXT, "memcpy");
}

/* Before the real ones are known, byte by byte. */
void *memmove(void *to, const void *from, size_t length)
{
    touched(length);
    if (real_memmove) return real_memmove(to, from, length);
    volatile uint8_t *out = to;
    const uint8_t *in = from;
    if ((uintptr_t)to < (uintptr_t)from) for (size_t i = 0; i < length; i++) out[i] = in[i];
    else for (size_t i = length; i--;) out[i] = in[i];
    return to;
}

void *memcpy(void *restrict to, const void *restrict from, size_t length)
{
    if (!real_memcpy) return memmove(to, from, length);
    touched(length);
    return real_memcpy(to, from, length);
}

void *memset(void *to, int byte, size_t length)
{
    touched(length);
    if (real_memset) return real_memset(to, byte, length);
    for (size_t i = 0; i < length; i++) ((volatile uint8_t *)to)[i] = (uint8_t)byte;
    return to;
}

/* As far as they are the same: a comparison ends there. */
int memcmp(const void *left, const void *right, size_t length)
{
    const uint8_t *one = left, *other = right;
    size_t same = 0;
    while (same < length && one[same] == other[same]) same++;
    touched(same);
    return same == length ? 0 : one[same] - other[same];
}

void *memchr(const void *bytes, int byte, size_t length)
{
    const uint8_t *at = bytes;
    size_t before = 0;
    while (before < length && at[before] != (uint8_t)byte) before++;
    touched(before);
    return before == length ? NULL : (void *)(at + before);
}

/* What -D_FORTIFY_SOURCE makes of them. */
void *__memcpy_chk(void *to, const void *from, size_t length, size_t room) { return length > room ? (abort(), NULL) : memcpy(to, from, length); }
void *__memmove_chk(void *to, const void *from, size_t length, size_t room) { return length > room ? (abort(), NULL) : memmove(to, from, length); }
void *__memset_chk(void *to, int byte, size_t length, size_t room) { return length > room ? (abort(), NULL) : memset(to, byte, length); }

void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);

void *malloc(size_t size)
{
    asked(size);
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    asked(count * size);
    return __libc_calloc(count, size);
}

void *realloc(void *block, size_t size)
{
    asked(size);
    return __libc_realloc(block, size);
}

static void count_event(VALUE trace, void *unused) { steps++; }

#define SLOT_BYTES 40 /* of a Ruby object, at least */

static size_t objects(void) { return rb_gc_stat(ID2SYM(rb_intern("total_allocated_objects"))); }

static VALUE measure(VALUE self)
{
    VALUE trace = rb_tracepoint_new(0, RUBY_EVENT_LINE | RUBY_EVENT_CALL | RUBY_EVENT_C_CALL | RUBY_EVENT_B_CALL, count_event, NULL);
    size_t objects_before = objects();
    rb_tracepoint_enable(trace);
    uint64_t steps_before = steps, allocated_before = allocated;
    rb_yield(Qnil);
    uint64_t steps_after = steps, allocated_after = allocated;
    rb_tracepoint_disable(trace);
    return rb_assoc_new(ULL2NUM(steps_after - steps_before), ULL2NUM(allocated_after - allocated_before + (objects() - objects_before) * SLOT_BYTES));
}

__attribute__((visibility("default"))) void Init_work_count(void)
{
    rb_define_singleton_method(rb_define_module("WorkCount"), "measure", measure, 0);
}

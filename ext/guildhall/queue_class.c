/* Guildhall::Queue: the ring, two waitlists beside it, and the contract of Thread::SizedQueue. */
#include "init.h"
#include "queue.h"
#include "waiter.h"
#include <ruby/ractor.h>
#include <stdlib.h>

typedef struct {
    guildhall_ring ring;
    guildhall_waitlist takers; /* wait for an item */
    guildhall_waitlist givers; /* wait for room */
    _Atomic int closed;
} queue;

static VALUE not_shareable_check; /* Guildhall::Shareable */
static ID id_check;

static void mark_item(uintptr_t item)
{
    rb_gc_mark((VALUE)item); /* pins: a cell is read by other Ractors while the collector moves objects */
}

static void queue_mark(void *pointer)
{
    queue *self = pointer;
    if (self->ring.cells) guildhall_ring_each(&self->ring, mark_item);
}

static void queue_free(void *pointer)
{
    queue *self = pointer;
    guildhall_ring_destroy(&self->ring);
    guildhall_waitlist_destroy(&self->takers);
    guildhall_waitlist_destroy(&self->givers);
    free(self);
}

static size_t queue_memsize(const void *pointer)
{
    const queue *self = pointer;
    return sizeof(queue) + self->ring.capacity * sizeof(guildhall_cell);
}

/* Not embeddable: compaction would move the ring under other Ractors. Not write-barrier protected: items come and go
 * without the barrier, and there are few queues. */
static const rb_data_type_t queue_type = {
    .wrap_struct_name = "Guildhall::Queue",
    .function = {.dmark = queue_mark, .dfree = queue_free, .dsize = queue_memsize},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_FROZEN_SHAREABLE,
};

static queue *queue_of(VALUE self)
{
    return rb_check_typeddata(self, &queue_type);
}

static size_t capacity_of(VALUE value)
{
    long capacity = NUM2LONG(value);
    if (capacity < 1) rb_raise(rb_eArgError, "capacity must be 1 or more, not %ld", capacity);
    if ((size_t)capacity > SIZE_MAX / sizeof(guildhall_cell) / 2) rb_raise(rb_eArgError, "capacity %ld is too large", capacity);
    return (size_t)capacity;
}

static VALUE queue_s_new(VALUE class, VALUE capacity)
{
    size_t size = capacity_of(capacity);
    queue *self = aligned_alloc(GUILDHALL_CACHE_LINE, (sizeof(queue) + 63) / 64 * 64);
    if (!self) rb_memerror();
    memset(self, 0, sizeof(queue));
    if (guildhall_ring_init(&self->ring, size) != 0) {
        free(self);
        rb_memerror();
    }
    guildhall_waitlist_init(&self->takers);
    guildhall_waitlist_init(&self->givers);
    VALUE object = TypedData_Wrap_Struct(class, &queue_type, self);
    rb_obj_freeze(object);
    return rb_ractor_make_shareable(object); /* while it is empty: nothing to walk */
}

typedef struct {
    queue *self;
    uintptr_t item;
} transfer;

/* Done as well when the queue is closed; the caller looks at `closed` where the ring says no. */
static int attempt_push(void *context)
{
    transfer *t = context;
    if (atomic_load_explicit(&t->self->closed, memory_order_acquire)) {
        t->self = NULL;
        return 1;
    }
    return guildhall_ring_push(&t->self->ring, t->item);
}

static int attempt_pop(void *context)
{
    transfer *t = context;
    if (guildhall_ring_pop(&t->self->ring, &t->item)) return 1;
    if (!atomic_load_explicit(&t->self->closed, memory_order_acquire)) return 0;
    if (guildhall_ring_pop(&t->self->ring, &t->item)) return 1; /* pushed before it was closed */
    if (guildhall_ring_size(&t->self->ring) > 0) return 0;      /* a push that was accepted is about to publish */
    t->self = NULL;
    return 1;
}

static void check_shareable(VALUE item)
{
    if (!rb_ractor_shareable_p(item)) rb_funcall(not_shareable_check, id_check, 2, item, rb_str_new_cstr("item"));
}

NORETURN(static void raise_closed(void));
static void raise_closed(void)
{
    rb_raise(rb_path2class("ClosedQueueError"), "queue closed");
}

/* After an operation that a waiter on the same side may have missed: whoever takes an item and sees more of them wakes the
 * next taker, because the wake-up of a producer that published late may have gone to one who found nothing yet. */
static void pushed(queue *self)
{
    guildhall_waitlist_wake_one(&self->takers);
    if (guildhall_waitlist_count(&self->givers) && guildhall_ring_size(&self->ring) < self->ring.capacity)
        guildhall_waitlist_wake_one(&self->givers);
}

static void popped(queue *self)
{
    guildhall_waitlist_wake_one(&self->givers);
    if (guildhall_waitlist_count(&self->takers) && guildhall_ring_size(&self->ring) > 0)
        guildhall_waitlist_wake_one(&self->takers);
}

static VALUE queue_push(VALUE object, VALUE item, VALUE timeout)
{
    queue *self = queue_of(object);
    check_shareable(item);
    transfer t = {self, (uintptr_t)item};
    int done = attempt_push(&t);
    if (!done) done = guildhall_wait(&self->givers, attempt_push, &t, guildhall_deadline(timeout));
    RB_GC_GUARD(item);
    if (!done) return Qnil;
    if (!t.self) raise_closed();
    pushed(self);
    RB_GC_GUARD(object);
    return object;
}

static VALUE queue_pop(VALUE object, VALUE timeout, VALUE otherwise)
{
    queue *self = queue_of(object);
    transfer t = {self, Qnil};
    int done = attempt_pop(&t);
    if (!done) done = guildhall_wait(&self->takers, attempt_pop, &t, guildhall_deadline(timeout));
    if (!done || !t.self) return otherwise;
    VALUE item = (VALUE)t.item;
    popped(self);
    RB_GC_GUARD(item);
    RB_GC_GUARD(object);
    return item;
}

static VALUE queue_try_push(VALUE object, VALUE item)
{
    queue *self = queue_of(object);
    check_shareable(item);
    transfer t = {self, (uintptr_t)item};
    if (!attempt_push(&t)) return Qfalse;
    if (!t.self) raise_closed();
    RB_GC_GUARD(item);
    pushed(self);
    return Qtrue;
}

static VALUE queue_try_pop(int argc, VALUE *argv, VALUE object)
{
    rb_check_arity(argc, 0, 1);
    queue *self = queue_of(object);
    uintptr_t item = Qnil;
    if (!guildhall_ring_pop(&self->ring, &item)) return argc > 0 ? argv[0] : Qnil;
    VALUE value = (VALUE)item;
    popped(self);
    RB_GC_GUARD(value);
    return value;
}

static VALUE queue_close(VALUE object)
{
    queue *self = queue_of(object);
    atomic_store_explicit(&self->closed, 1, memory_order_release);
    guildhall_waitlist_wake_all(&self->takers);
    guildhall_waitlist_wake_all(&self->givers);
    return object;
}

static VALUE queue_closed_p(VALUE object)
{
    return atomic_load_explicit(&queue_of(object)->closed, memory_order_acquire) ? Qtrue : Qfalse;
}

static VALUE queue_size(VALUE object)
{
    return SIZET2NUM(guildhall_ring_size(&queue_of(object)->ring));
}

static VALUE queue_capacity(VALUE object)
{
    return SIZET2NUM(queue_of(object)->ring.capacity);
}

static VALUE queue_num_waiting(VALUE object)
{
    queue *self = queue_of(object);
    return SIZET2NUM(guildhall_waitlist_count(&self->takers) + guildhall_waitlist_count(&self->givers));
}

void guildhall_init_queue(VALUE guildhall)
{
    id_check = rb_intern("check!");
    rb_gc_register_address(&not_shareable_check);
    not_shareable_check = rb_const_get(guildhall, rb_intern("Shareable"));
    VALUE class = rb_define_class_under(guildhall, "Queue", rb_cObject);
    rb_undef_alloc_func(class);
    rb_define_singleton_method(class, "new", queue_s_new, 1);
    rb_define_private_method(class, "native_push", queue_push, 2);
    rb_define_private_method(class, "native_pop", queue_pop, 2);
    rb_define_method(class, "try_push", queue_try_push, 1);
    rb_define_method(class, "try_pop", queue_try_pop, -1);
    rb_define_method(class, "close", queue_close, 0);
    rb_define_method(class, "closed?", queue_closed_p, 0);
    rb_define_method(class, "size", queue_size, 0);
    rb_define_method(class, "capacity", queue_capacity, 0);
    rb_define_method(class, "num_waiting", queue_num_waiting, 0);
}

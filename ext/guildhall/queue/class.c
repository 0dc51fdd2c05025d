/* Guildhall::Queue and Guildhall::StripedQueue: a channel with the contract of Thread::SizedQueue.
 *
 * All methods that take an item are C functions, called without a Ruby frame between them and the caller: a Ruby method
 * checks for interrupts as it returns, which would lose the item it has just taken. */
#include "channel.h"
#include <guildhall/sharing.h>
#include "init.h"
#include "memory/block_pool.h"
#include "values/share.h"
#include "waiting/waiter.h"
#include <ruby/ractor.h>
#include <ruby/thread.h>
#include <stdlib.h>

#define CHUNK 64 /* items moved at once by the methods for many */

static VALUE shareable_module, closed_error;
static rb_internal_thread_specific_key_t lane_key;
static bool lanes_available;
static _Atomic uintptr_t lanes; /* handed out so far */

/* ---- the object */

/* Pins: a cell is read by other Ractors while the collector moves objects. */
static void queue_mark(void *channel) { guildhall_channel_each(channel, rb_gc_mark); }

static size_t queue_memsize(const void *pointer)
{
    const guildhall_channel *channel = pointer;
    return sizeof(*channel) + channel->count * sizeof(guildhall_stripe) + channel->capacity * sizeof(guildhall_cell);
}

static void queue_free(void *pointer)
{
    guildhall_channel *channel = pointer;
    guildhall_gc_freed(queue_memsize(channel));
    guildhall_channel_destroy(channel);
    free(channel);
}

/* Not embeddable: compaction would move the struct under other Ractors. Not write-barrier protected where the barrier costs a lock as soon
 * as there are several Ractors: a queue is marked again instead, from head to tail. */
static const rb_data_type_t private_type = {
    .wrap_struct_name = "Guildhall::Queue (one Ractor's)",
    .function = {.dmark = queue_mark, .dfree = queue_free, .dsize = queue_memsize},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY,
};
static const rb_data_type_t shared_type = {
    .wrap_struct_name = "Guildhall::Queue",
    .function = {.dmark = queue_mark, .dfree = queue_free, .dsize = queue_memsize},
    .parent = &private_type,
    .flags = RUBY_TYPED_FREE_IMMEDIATELY | GUILDHALL_SHARED_TYPE,
};

static inline guildhall_channel *queue_channel_of(VALUE queue) { return rb_check_typeddata(queue, &private_type); }

static size_t queue_positive(VALUE value, const char *name)
{
    if (!FIXNUM_P(value) || FIX2LONG(value) < 1)
        rb_raise(guildhall_argument_error(), "%s must be an Integer of 1 or more, not %" PRIsVALUE, name, rb_inspect(value));
    return (size_t)FIX2LONG(value);
}

static guildhall_channel *queue_channel_new(size_t capacity, size_t stripes)
{
    if (capacity > (size_t)1 << 40) rb_raise(guildhall_argument_error(), "capacity %zu is too large", capacity);
    if (stripes > capacity) rb_raise(guildhall_argument_error(), "%zu stripes need a capacity of at least that", stripes);
    guildhall_channel *channel = aligned_alloc(_Alignof(guildhall_channel), sizeof(guildhall_channel));
    if (!channel) rb_memerror();
    if (guildhall_channel_init(channel, capacity, stripes) == 0) return channel;
    guildhall_channel_destroy(channel);
    free(channel);
    rb_memerror();
}

/* Queue.make(capacity, stripes, check), private. */
static VALUE queue_s_make(VALUE class, VALUE capacity, VALUE stripes, VALUE check)
{
    size_t items = queue_positive(capacity, "capacity"), rings = queue_positive(stripes, "stripes");
    if (rings > 1 && !lanes_available)
        rb_raise(rb_eThreadError, "a StripedQueue needs guildhall to be loaded before the first Ractor: require it earlier, or use one "
                                  "stripe");
    guildhall_channel *channel = queue_channel_new(items, rings);
    VALUE queue = TypedData_Wrap_Struct(class, RTEST(check) ? &shared_type : &private_type, channel);
    guildhall_gc_block_adopt(queue_memsize(channel));
    rb_obj_freeze(queue);
    return RTEST(check) ? rb_ractor_make_shareable(queue) : queue; /* while it is empty: nothing to walk */
}

/* Ruby calls this to copy a queue that is not shareable, when it is sent to another Ractor. */
static VALUE queue_s_allocate(VALUE class)
{
    rb_raise(rb_eTypeError, "a %" PRIsVALUE " cannot be copied; one made with check: false stays in the Ractor that made it",
             class);
}

/* ---- moving items */

typedef struct {
    VALUE queue; /* of a push */
    guildhall_channel *channel;
    size_t lane, stripe;
    uintptr_t *items;
    size_t count;
    long moved; /* as the channel answers */
} transfer;

/* Each thread has a number, its lane, which picks the stripe it pushes to; a plain queue has no use for it. Beside it is
 * a count of pops: a consumer stays with a stripe for a run of them, then begins with the next, so that none starves. */
#define LANE_SHIFT 20
#define RUN_SHIFT 4

static uintptr_t queue_lane_and_pops(uintptr_t step)
{
    VALUE thread = rb_thread_current();
    uintptr_t both = (uintptr_t)rb_internal_thread_specific_get(thread, lane_key);
    uintptr_t lane = both ? both >> LANE_SHIFT : atomic_fetch_add_explicit(&lanes, 1, memory_order_relaxed) + 1;
    uintptr_t pops = (both + step) & (((uintptr_t)1 << LANE_SHIFT) - 1);
    both = lane << LANE_SHIFT | pops;
    rb_internal_thread_specific_set(thread, lane_key, (void *)both);
    return both;
}

static transfer queue_begin_push(VALUE queue, uintptr_t *items, size_t count)
{
    guildhall_channel *channel = queue_channel_of(queue);
    size_t lane = channel->count == 1 ? 0 : queue_lane_and_pops(0) >> LANE_SHIFT;
    return (transfer){.queue = queue, .channel = channel, .lane = lane, .items = items, .count = count};
}

static transfer queue_begin_pop(VALUE queue, uintptr_t *items, size_t count)
{
    guildhall_channel *channel = queue_channel_of(queue);
    uintptr_t both = channel->count == 1 ? 0 : queue_lane_and_pops(1);
    size_t lane = (both >> LANE_SHIFT) + ((both & (((uintptr_t)1 << LANE_SHIFT) - 1)) >> RUN_SHIFT);
    return (transfer){.channel = channel, .lane = lane, .items = items, .count = count};
}

static int queue_attempt_push(void *context)
{
    transfer *self = context;
    return (self->moved = guildhall_channel_push(self->channel, self->lane, self->items, self->count)) != 0;
}

static int queue_attempt_pop(void *context)
{
    transfer *self = context;
    return (self->moved = guildhall_channel_pop(self->channel, self->lane, self->items, self->count, &self->stripe)) != 0;
}

static void queue_wake_after_pop(transfer *self)
{
    if (self->moved > 0) guildhall_channel_popped(self->channel, self->stripe);
    else if (self->moved == GUILDHALL_RING_CLOSED) guildhall_channel_exhausted(self->channel);
}

/* deadline: below 0 not to wait at all. */
static void queue_wait_to_push(transfer *self, int64_t deadline)
{
    if (!queue_attempt_push(self) && deadline >= 0)
        guildhall_wait(&guildhall_channel_stripe(self->channel, self->lane)->givers, queue_attempt_push, self, deadline);
    if (self->moved == GUILDHALL_RING_CLOSED) rb_raise(closed_error, "queue closed");
    for (long i = 0; i < self->moved; i++) guildhall_refers(self->queue, (VALUE)self->items[i]);
    if (self->moved > 0) guildhall_channel_pushed(self->channel, self->lane);
}

static void queue_wait_to_pop(transfer *self, int64_t deadline)
{
    if (!queue_attempt_pop(self) && deadline >= 0) guildhall_wait(&self->channel->takers, queue_attempt_pop, self, deadline);
    queue_wake_after_pop(self);
}

static void queue_check_item(VALUE queue, VALUE item)
{
    if (RTYPEDDATA_TYPE(queue) == &private_type || guildhall_shareable(item)) return; /* the second is a walk through all of it */
    rb_funcall(shareable_module, rb_intern("check!"), 2, item, rb_str_new_cstr("item"));
}

/* ---- arguments */

typedef struct {
    VALUE positional, timeout, otherwise;
} options;

static options queue_parse(int argc, VALUE *argv, int allowed, int keywords)
{
    options parsed = {Qnil, Qnil, Qnil};
    if (rb_keyword_given_p()) {
        ID names[] = {rb_intern("timeout"), rb_intern("default")};
        VALUE values[2];
        rb_get_kwargs(argv[argc - 1], names, 0, keywords, values);
        if (values[0] != Qundef) parsed.timeout = values[0];
        if (keywords > 1 && values[1] != Qundef) parsed.otherwise = values[1];
        argc--;
    }
    rb_check_arity(argc, 0, allowed);
    if (argc > 0) parsed.positional = argv[0];
    return parsed;
}

static int64_t queue_deadline_of(options *given)
{
    if (!RTEST(given->positional)) return guildhall_deadline(given->timeout);
    if (!NIL_P(given->timeout)) rb_raise(guildhall_argument_error(), "can't set a timeout if non_block is enabled");
    return -1; /* not to wait at all */
}

/* ---- one item */

static VALUE queue_push(int argc, VALUE *argv, VALUE queue)
{
    VALUE item = argc > 0 ? argv[0] : Qnil;
    int64_t deadline = 0;
    if (argc == 0 || (argc == 1 && RB_TYPE_P(item, T_HASH) && rb_keyword_given_p())) rb_error_arity(0, 1, 2);
    if (argc > 1) {
        options given = queue_parse(argc - 1, argv + 1, 1, 1);
        deadline = queue_deadline_of(&given);
    }
    queue_check_item(queue, item);
    transfer self = queue_begin_push(queue, (uintptr_t *)&item, 1);
    queue_wait_to_push(&self, deadline);
    RB_GC_GUARD(item);
    RB_GC_GUARD(queue);
    if (self.moved > 0) return queue;
    if (deadline < 0) rb_raise(rb_eThreadError, "queue full");
    return Qnil;
}

static VALUE queue_pop(int argc, VALUE *argv, VALUE queue)
{
    options given = {Qnil, Qnil, Qnil};
    int64_t deadline = 0;
    if (argc > 0) {
        given = queue_parse(argc, argv, 1, 2);
        deadline = queue_deadline_of(&given);
    }
    VALUE item = Qnil;
    transfer self = queue_begin_pop(queue, (uintptr_t *)&item, 1);
    queue_wait_to_pop(&self, deadline);
    RB_GC_GUARD(item);
    RB_GC_GUARD(queue);
    if (self.moved > 0) return item;
    if (deadline < 0) rb_raise(rb_eThreadError, "queue empty");
    return given.otherwise;
}

static VALUE queue_try_push(VALUE queue, VALUE item)
{
    queue_check_item(queue, item);
    transfer self = queue_begin_push(queue, (uintptr_t *)&item, 1);
    queue_wait_to_push(&self, -1);
    RB_GC_GUARD(item);
    RB_GC_GUARD(queue);
    return self.moved > 0 ? Qtrue : Qfalse;
}

static VALUE queue_try_pop(int argc, VALUE *argv, VALUE queue)
{
    rb_check_arity(argc, 0, 1);
    VALUE item = Qnil;
    transfer self = queue_begin_pop(queue, (uintptr_t *)&item, 1);
    queue_wait_to_pop(&self, -1);
    RB_GC_GUARD(item);
    RB_GC_GUARD(queue);
    if (self.moved > 0) return item;
    return argc > 0 ? argv[0] : Qnil;
}

/* ---- many items */

static VALUE queue_push_many(int argc, VALUE *argv, VALUE queue)
{
    if (argc == 0) rb_error_arity(0, 1, 1);
    VALUE given_items = rb_check_array_type(argv[0]);
    if (NIL_P(given_items)) rb_raise(guildhall_argument_error(), "items must be an Array, not %" PRIsVALUE, rb_inspect(argv[0]));
    VALUE list = rb_ary_dup(given_items); /* a copy: no other code changes it */
    options given = queue_parse(argc - 1, argv + 1, 0, 1);
    int64_t deadline = guildhall_deadline(given.timeout);
    long size = RARRAY_LEN(list);
    for (long index = 0; index < size; index++) queue_check_item(queue, RARRAY_AREF(list, index));
    uintptr_t items[CHUNK];
    transfer self = queue_begin_push(queue, items, 0);
    long pushed = 0;
    while (pushed < size) {
        for (self.count = 0; self.count < CHUNK && pushed + (long)self.count < size; self.count++)
            items[self.count] = (uintptr_t)RARRAY_AREF(list, pushed + (long)self.count);
        queue_wait_to_push(&self, deadline);
        if (self.moved == 0) break;
        pushed += self.moved;
    }
    RB_GC_GUARD(list);
    RB_GC_GUARD(queue);
    return LONG2NUM(pushed);
}

/* Takes what is there, up to limit, without waiting, and appends it to a list that has room for it: nothing here allocates
 * or checks for interrupts. self->items: room for CHUNK. */
static void queue_pop_more(transfer *self, VALUE list, long limit)
{
    while (RARRAY_LEN(list) < limit) {
        long left = limit - RARRAY_LEN(list);
        self->count = left < CHUNK ? (size_t)left : CHUNK;
        if (!queue_attempt_pop(self) || self->moved < 0) return;
        rb_ary_cat(list, (VALUE *)self->items, self->moved);
        queue_wake_after_pop(self);
    }
}

static VALUE queue_pop_many(int argc, VALUE *argv, VALUE queue)
{
    if (argc == 0) rb_error_arity(0, 1, 1);
    size_t limit = queue_positive(argv[0], "max"), likely = guildhall_channel_size(queue_channel_of(queue));
    if (likely < CHUNK) likely = CHUNK;
    if (limit > likely) limit = likely; /* room is made beforehand, and not for a million */
    options given = queue_parse(argc - 1, argv + 1, 0, 1);
    int64_t deadline = guildhall_deadline(given.timeout);
    VALUE list = rb_ary_new_capa((long)limit);
    uintptr_t items[CHUNK];
    transfer self = queue_begin_pop(queue, items, limit < CHUNK ? limit : CHUNK);
    queue_wait_to_pop(&self, deadline);
    if (self.moved == GUILDHALL_RING_CLOSED) return Qnil;
    rb_ary_cat(list, (VALUE *)items, self.moved);
    if (self.moved == CHUNK) queue_pop_more(&self, list, (long)limit);
    RB_GC_GUARD(queue);
    return list;
}

static VALUE queue_drain(VALUE queue)
{
    uintptr_t items[CHUNK];
    transfer self = queue_begin_pop(queue, items, 0);
    long size = (long)guildhall_channel_size(self.channel);
    VALUE list = rb_ary_new_capa(size);
    queue_pop_more(&self, list, size);
    RB_GC_GUARD(queue);
    return list;
}

static VALUE queue_clear(VALUE queue)
{
    uintptr_t items[CHUNK];
    transfer self = queue_begin_pop(queue, items, CHUNK);
    /* At most as many as it holds: producers that are as quick must not keep us here. */
    for (size_t left = self.channel->capacity; left > 0 && queue_attempt_pop(&self) && self.moved > 0;) {
        queue_wake_after_pop(&self);
        left = (size_t)self.moved < left ? left - (size_t)self.moved : 0;
    }
    RB_GC_GUARD(queue);
    return queue;
}

/* ---- state */

static VALUE queue_close(VALUE queue)
{
    guildhall_channel_close(queue_channel_of(queue));
    return queue;
}

static VALUE queue_closed_p(VALUE queue) { return guildhall_channel_closed(queue_channel_of(queue)) ? Qtrue : Qfalse; }
static VALUE queue_size(VALUE queue) { return SIZET2NUM(guildhall_channel_size(queue_channel_of(queue))); }
static VALUE queue_capacity(VALUE queue) { return SIZET2NUM(queue_channel_of(queue)->capacity); }
static VALUE queue_stripes(VALUE queue) { return SIZET2NUM(queue_channel_of(queue)->count); }
static VALUE queue_num_waiting(VALUE queue) { return SIZET2NUM(guildhall_channel_waiting(queue_channel_of(queue))); }

void guildhall_init_queue(VALUE guildhall)
{
    lanes_available = guildhall_thread_key(&lane_key);
    rb_gc_register_address(&shareable_module);
    shareable_module = rb_const_get(guildhall, rb_intern("Shareable"));
    rb_gc_register_address(&closed_error);
    closed_error = rb_const_get(guildhall, rb_intern("ClosedQueueError"));
    VALUE class = rb_define_class_under(guildhall, "Queue", rb_cObject);
    rb_define_alloc_func(class, queue_s_allocate);
    rb_define_private_method(rb_singleton_class(class), "make", queue_s_make, 3);
    rb_define_method(class, "push", queue_push, -1);
    rb_define_method(class, "pop", queue_pop, -1);
    rb_define_method(class, "try_push", queue_try_push, 1);
    rb_define_method(class, "try_pop", queue_try_pop, -1);
    rb_define_method(class, "push_many", queue_push_many, -1);
    rb_define_method(class, "pop_many", queue_pop_many, -1);
    rb_define_method(class, "drain", queue_drain, 0);
    rb_define_method(class, "clear", queue_clear, 0);
    rb_define_method(class, "close", queue_close, 0);
    rb_define_method(class, "closed?", queue_closed_p, 0);
    rb_define_method(class, "size", queue_size, 0);
    rb_define_method(class, "capacity", queue_capacity, 0);
    rb_define_private_method(class, "stripe_count", queue_stripes, 0);
    rb_define_method(class, "num_waiting", queue_num_waiting, 0);
}

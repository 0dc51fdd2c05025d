/* All that this extension assumes of Ruby beyond its documented C API.
 *
 * Tested when the extension is loaded. Where a shortcut's test fails, it is not taken; where there is no other way, loading
 * fails with an error that says so. Guildhall::ASSUMPTIONS (private) has the outcome; names in GUILDHALL_DISTRUST, with
 * commas between them, fail whatever the test says: to try the other way, or to find out whether a shortcut is to blame.
 *
 * Known by heart alone, since no test could show it in a moment:
 *
 * - A new object needs no write barrier until something is allocated: it is young, and nothing has marked it (json/document.c,
 *   values/hash_template.c). The tests under GC.stress and GC.verify_internal_consistency would see it.
 * - Marking a shareable object stops all Ractors: queues are marked without a lock (queue/class.c). Caches are marked by the Ractor that they
 *   belong to (values/caches.c).
 * - RUBY_MAX_CPU is 8 where it is not set, and from 4.1 on the number of processors (waiting/sleepers.c): fewer native threads would let
 *   waiters take all of them.
 * - A thread that is to end has a number for $! (pool/task.c).
 */
#include <ruby.h>
#include <ruby/ractor.h>
#include <ruby/version.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "init.h"
#include "pool/batch.h"
#include "values/frozen.h"
#include "values/hash_template.h"

/* Special constants that Ruby does not use mark the slots of a batch (pool/batch.h): no object is at such an address, and
 * the collector does not look at them. */
#define UNUSED_CONSTANT(mark)                                                                                         \
    _Static_assert(((mark) & RUBY_IMMEDIATE_MASK) != 0 && ((mark) & RUBY_FIXNUM_FLAG) == 0 &&                          \
                       ((mark) & RUBY_FLONUM_MASK) != RUBY_FLONUM_FLAG && ((mark) & 0xff) != RUBY_SYMBOL_FLAG &&       \
                       (mark) != RUBY_Qnil && (mark) != RUBY_Qtrue && (mark) != RUBY_Qundef,                           \
                   #mark " is a value of Ruby's")
UNUSED_CONSTANT(GUILDHALL_SLOT_UNSET);
UNUSED_CONSTANT(GUILDHALL_SLOT_RUNNING);
UNUSED_CONSTANT(GUILDHALL_SLOT_AGAIN);
UNUSED_CONSTANT(GUILDHALL_SLOT_RUNNING_AGAIN);

typedef struct {
    int unused;
} probe;

static const rb_data_type_t embedded_type = {
    "Guildhall probe", {NULL, RUBY_TYPED_DEFAULT_FREE, NULL}, 0, 0,
    RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_FROZEN_SHAREABLE | RUBY_TYPED_EMBEDDABLE};

static int assumptions_shareable(VALUE object) { return RTEST(rb_funcall(rb_cRactor, rb_intern("shareable?"), 1, object)); }

/* One object of each kind that guildhall_share is used on, none of them frozen by Ruby. */
static VALUE assumptions_fresh(int kind)
{
    switch (kind) {
    case 0: return rb_str_new("a text that is longer than what an object has room for in its slot ...............", 80);
    case 1: return rb_ary_new_from_args(1, Qnil);
    case 2: return rb_hash_new();
    case 3: return rb_data_typed_object_zalloc(rb_cObject, sizeof(probe), &embedded_type);
    default: return 0;
    }
}

/* Shareability is a flag: what has it is shareable, to Ruby; what Ruby makes shareable has it. */
static int assumptions_flag(void)
{
    VALUE flags = RUBY_FL_FREEZE | RUBY_FL_SHAREABLE, object;
    for (int kind = 0; (object = assumptions_fresh(kind)); kind++) {
        if (assumptions_shareable(object) || !assumptions_shareable(guildhall_share(object))) return 0;
        if ((RBASIC(rb_ractor_make_shareable(assumptions_fresh(kind)))->flags & flags) != flags) return 0;
    }
    return assumptions_shareable(guildhall_float_new(1e-300)) && assumptions_shareable(guildhall_unsigned_new(UINT64_MAX));
}

/* A Time within fixnums of nanoseconds refers to nothing that is not shareable (avro/build.c). */
static int assumptions_times(void)
{
    struct timespec spec = {FIXNUM_MAX / 1000000000 - 1, 123456789};
    return assumptions_shareable(rb_obj_freeze(rb_time_timespec_new(&spec, INT_MAX - 1)));
}

/* One flag says of a String and of an Array that another object owns the contents (values/share.c). */
static int assumptions_borrowed(void)
{
    VALUE text = assumptions_fresh(0), list = rb_ary_new();
    for (int i = 0; i < 100; i++) rb_ary_push(list, INT2FIX(i));
    if (RB_FL_ANY_RAW(text, RUBY_ELTS_SHARED) || RB_FL_ANY_RAW(list, RUBY_ELTS_SHARED)) return 0;
    VALUE end = rb_str_substr(rb_str_times(text, INT2FIX(100)), 80, 7920), rest = rb_ary_subseq(list, 10, 90);
    return RB_FL_ANY_RAW(end, RUBY_ELTS_SHARED) && RB_FL_ANY_RAW(rest, RUBY_ELTS_SHARED);
}

/* A throw has a hidden object for $! (pool/task.c, waiting/sleepers.c). */
static VALUE assumptions_throw(VALUE tag)
{
    rb_throw_obj(tag, Qnil);
    return Qnil;
}

static VALUE assumptions_catch(RB_BLOCK_CALL_FUNC_ARGLIST(tag, unused))
{
    int state;
    rb_protect(assumptions_throw, tag, &state);
    VALUE error = rb_errinfo();
    rb_set_errinfo(Qnil);
    return !RB_SPECIAL_CONST_P(error) && RB_BUILTIN_TYPE(error) == T_IMEMO ? Qtrue : Qfalse;
}

static int assumptions_throws(void) { return rb_catch_obj(rb_obj_alloc(rb_cObject), assumptions_catch, Qnil) == Qtrue; }

/* How threads of other Ractors wait without a native thread of their own: a port, or the scheduler of 3.4 and no other
 * (waiting/sleepers.c). */
static int assumptions_waits(void)
{
    return RUBY_API_VERSION_MAJOR == 3 || rb_const_defined(rb_cRactor, rb_intern("Port"));
}

static const struct {
    const char *name;
    int (*holds)(void);
    void (*otherwise)(void); /* NULL: there is no other way */
} assumptions[] = {
    {"shareable_flag", assumptions_flag, NULL},
    {"shareable_times", assumptions_times, NULL},
    {"borrowed_flag", assumptions_borrowed, NULL},
    {"throw_errinfo", assumptions_throws, NULL},
    {"waits", assumptions_waits, NULL},
    {"hash_templates", guildhall_hash_templates_hold, guildhall_distrust_hash_templates},
};

static int assumptions_distrusted(const char *name)
{
    const char *list = getenv("GUILDHALL_DISTRUST");
    size_t length = strlen(name);
    for (const char *at = list; at && *at; at += strcspn(at, ","), at += *at == ',') {
        if (strcspn(at, ",") == length && !strncmp(at, name, length)) return 1;
    }
    return 0;
}

/* On other Rubies the extension is built only to be tried (extconf.rb). */
static int assumptions_proved(void)
{
#ifdef GUILDHALL_UNPROVED_RUBY
    const char *lifted = getenv("GUILDHALL_UNPROVED_RUBY");
    if (!lifted || strcmp(lifted, "1")) return 0;
#endif
    return !assumptions_distrusted("proved");
}

void guildhall_check_ruby(void)
{
    if (assumptions_proved()) return;
    rb_raise(rb_eLoadError, "guildhall is not proved on Ruby %s, and could corrupt memory there: use Ruby 3.4 or 4.0, or a newer guildhall. "
             "GUILDHALL_UNPROVED_RUBY=1 loads it all the same, to try it", ruby_version);
}

void guildhall_init_assumptions(VALUE guildhall)
{
    VALUE outcome = rb_hash_new();
    for (size_t i = 0; i < sizeof assumptions / sizeof *assumptions; i++) {
        const char *name = assumptions[i].name;
        int holds = assumptions[i].holds() && !assumptions_distrusted(name);
        rb_hash_aset(outcome, ID2SYM(rb_intern(name)), holds ? Qtrue : Qfalse);
        if (holds) continue;
        if (!assumptions[i].otherwise) {
            rb_raise(rb_eLoadError, "guildhall does not know the inside of Ruby %s (%s; see ext/guildhall/assumptions.c): use a Ruby that "
                     "this version supports, or a newer guildhall", ruby_version, name);
        }
        assumptions[i].otherwise();
    }
    rb_define_const(guildhall, "ASSUMPTIONS", rb_ractor_make_shareable(outcome));
    rb_define_const(guildhall, "COLLECTOR_PER_RACTOR", GUILDHALL_COLLECTOR_PER_RACTOR ? Qtrue : Qfalse);
    rb_funcall(guildhall, rb_intern("private_constant"), 2, ID2SYM(rb_intern("ASSUMPTIONS")), ID2SYM(rb_intern("COLLECTOR_PER_RACTOR")));
}

#include <ruby/encoding.h>
#include <guildhall/platform.h>
#include "walk.h"

VALUE guildhall_walk_type, guildhall_walk_required;
static ID id_match;
static VALUE schema_walk_limit_error(void) { return rb_path2class("Guildhall::Schema::LimitError"); }

/* How often a long validation looks whether its thread is wanted elsewhere. */
#define INTERRUPT_MASK UINT64_C(0x3fff)

void guildhall_walk_init(void)
{
    id_match = rb_intern("match?");
    guildhall_walk_type = rb_interned_str_cstr("type");
    guildhall_walk_required = rb_interned_str_cstr("required");
    rb_gc_register_mark_object(guildhall_walk_type);
    rb_gc_register_mark_object(guildhall_walk_required);
}

void guildhall_walk_count(guildhall_walk *walk, uint64_t work)
{
    uint64_t before = walk->work;
    walk->work += work;
    if (walk->work > walk->program->work_limit)
        rb_raise(schema_walk_limit_error(), "validation stopped after %llu steps without a verdict; raise work_limit: if the "
                 "schema is meant to be this expensive", (unsigned long long)walk->program->work_limit);
    if ((before & ~INTERRUPT_MASK) != (walk->work & ~INTERRUPT_MASK)) rb_thread_check_ints();
}

void guildhall_walk_too_deep(void)
{
    rb_raise(schema_walk_limit_error(), "validation stopped: schema and value are nested more than %d levels deep, or the schema "
             "applies itself to the same value without end", GUILDHALL_WALK_DEPTH);
}

void guildhall_walk_error(guildhall_walk *walk, VALUE location, VALUE keyword, VALUE operand, VALUE path, VALUE detail,
                          VALUE causes)
{
    rb_ary_push(walk->errors, rb_ary_new_from_args(6, keyword, path, location, operand, detail, causes));
}

#define TICK 1000000 /* ns */
#define STEP 100     /* ns */

/* A match may take as long as regexp_timeout, and a callable as it likes; many in one validation must not. When a call crosses
 * a tick, the processor time since the last of these counts as steps. (Not the time that other threads had; and a Ractor
 * may go on on another native thread, whose clock is another.) */
static void schema_walk_count_processor_time(guildhall_walk *walk, uint64_t now)
{
    uint64_t processor = (uint64_t)guildhall_thread_cpu_now(), took = 0;
    if (walk->called_at && processor > walk->called_cpu) {
        took = processor - walk->called_cpu;
        if (took > now - walk->called_at) took = now - walk->called_at;
    }
    walk->called_at = now;
    walk->called_cpu = processor;
    guildhall_walk_count(walk, took / STEP);
}

uint64_t guildhall_walk_begin_time(void) { return (uint64_t)guildhall_coarse_now(); }

void guildhall_walk_count_time(guildhall_walk *walk, uint64_t began)
{
    uint64_t now = (uint64_t)guildhall_coarse_now();
    guildhall_walk_count(walk, 1);
    if (RB_UNLIKELY(now - began >= TICK)) schema_walk_count_processor_time(walk, now);
}

/* What is no text matches nothing. */
bool guildhall_walk_match(guildhall_walk *walk, VALUE regexp, VALUE string)
{
    guildhall_walk_count_bytes(walk, (size_t)RSTRING_LEN(string));
    if (rb_enc_str_coderange(string) == ENC_CODERANGE_BROKEN) return false;
    uint64_t began = guildhall_walk_begin_time();
    bool matches = rb_funcallv(regexp, id_match, 1, &string) == Qtrue;
    guildhall_walk_count_time(walk, began);
    return matches;
}

uint32_t guildhall_walk_dynamic(guildhall_walk *walk, const guildhall_dynamic *dynamic, const guildhall_scope *within)
{
    uint32_t outermost = dynamic->fallback;
    for (const guildhall_scope *scope = within; scope != NULL; scope = scope->outer) {
        guildhall_walk_count(walk, 1 + dynamic->count / GUILDHALL_WALK_ITEMS_A_STEP);
        for (uint32_t i = 0; i < dynamic->count; i++) {
            if (dynamic->resources[i] == scope->resource) outermost = dynamic->schemas[i];
        }
    }
    return outermost;
}

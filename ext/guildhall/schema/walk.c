#include <ruby/encoding.h>
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
    rb_raise(schema_walk_limit_error(), "validation stopped: schema and value are nested too deep");
}

void guildhall_walk_error(guildhall_walk *walk, VALUE location, VALUE keyword, VALUE operand, VALUE path, VALUE detail,
                          VALUE causes)
{
    rb_ary_push(walk->errors, rb_ary_new_from_args(6, keyword, path, location, operand, detail, causes));
}

/* What is no text matches nothing. */
bool guildhall_walk_match(VALUE regexp, VALUE string)
{
    if (rb_enc_str_coderange(string) == ENC_CODERANGE_BROKEN) return false;
    return rb_funcallv(regexp, id_match, 1, &string) == Qtrue;
}

uint32_t guildhall_walk_dynamic(const guildhall_dynamic *dynamic, const guildhall_scope *within)
{
    uint32_t outermost = dynamic->fallback;
    for (const guildhall_scope *scope = within; scope != NULL; scope = scope->outer) {
        for (uint32_t i = 0; i < dynamic->count; i++) {
            if (dynamic->resources[i] == scope->resource) outermost = dynamic->schemas[i];
        }
    }
    return outermost;
}

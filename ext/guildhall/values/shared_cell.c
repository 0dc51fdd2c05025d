/* Guildhall::SharedCell: one reference to a shareable object, which every Ractor can read and replace.
 *
 * For caches that are filled rarely and read all the time: the contents are a frozen Hash; to add to it, a
 * caller swaps in a new one. Reading is one load. Writers in several Ractors meet in compare_and_swap.
 */
#include <ruby.h>
#include <ruby/ractor.h>
#include <stdatomic.h>
#include <guildhall/sharing.h>
#include "init.h"

typedef struct {
    _Atomic VALUE content;
} cell;

/* Runs without a barrier in some walks: one load, and no compaction of what is held. */
static void shared_cell_mark(void *pointer)
{
    rb_gc_mark(atomic_load_explicit(&((cell *)pointer)->content, memory_order_acquire));
}

static const rb_data_type_t type = {
    "Guildhall::SharedCell", {shared_cell_mark, RUBY_TYPED_DEFAULT_FREE, NULL}, 0, 0,
    RUBY_TYPED_FREE_IMMEDIATELY | GUILDHALL_SHARED_TYPE};

static VALUE shared_cell_checked(VALUE content)
{
    if (!rb_ractor_shareable_p(content)) rb_raise(rb_eArgError, "a shared cell holds shareable objects only");
    return content;
}

/* @param content [Object] shareable */
static VALUE shared_cell_new(VALUE class, VALUE content)
{
    cell *made;
    VALUE self = TypedData_Make_Struct(class, cell, &type, made);
    atomic_store_explicit(&made->content, Qnil, memory_order_relaxed);
    rb_obj_freeze(self);
    rb_ractor_make_shareable(self);
    atomic_store_explicit(&made->content, shared_cell_checked(content), memory_order_release);
    guildhall_refers(self, content);
    return self;
}

static cell *shared_cell_of(VALUE self) { return rb_check_typeddata(self, &type); }

static VALUE shared_cell_get(VALUE self) { return atomic_load_explicit(&shared_cell_of(self)->content, memory_order_acquire); }

/* Puts `wanted` in the place of `expected` (that very object); says whether it did. */
static VALUE shared_cell_compare_and_swap(VALUE self, VALUE expected, VALUE wanted)
{
    cell *held = shared_cell_of(self);
    shared_cell_checked(wanted);
    if (!atomic_compare_exchange_strong(&held->content, &expected, wanted)) return Qfalse;
    guildhall_refers(self, wanted);
    return Qtrue;
}

void guildhall_init_shared_cell(VALUE guildhall)
{
    VALUE class = rb_define_class_under(guildhall, "SharedCell", rb_cObject);
    rb_undef_alloc_func(class);
    rb_undef_method(class, "initialize_copy");
    rb_define_singleton_method(class, "new", shared_cell_new, 1);
    rb_define_method(class, "get", shared_cell_get, 0);
    rb_define_method(class, "compare_and_swap", shared_cell_compare_and_swap, 2);
}

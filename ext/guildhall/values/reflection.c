/* What may be asked of any object, whatever its class has redefined, and of a BasicObject, which has no methods for it.
 *
 * Binding Kernel's own methods says the same, but on Ruby 3.4 not in several Ractors at once: each such call counts on the method's
 * definition without a lock, and a count that is lost frees the definition while it is in use. */
#include <ruby.h>
#include "init.h"

/* @api private. Shareable.type_of(object): its class. */
static VALUE reflection_type_of(VALUE self, VALUE object) { return rb_obj_class(object); }

/* @api private. Shareable.frozen_object?(object). */
static VALUE reflection_frozen_object_p(VALUE self, VALUE object) { return rb_obj_frozen_p(object); }

/* @api private. Shareable.variables(object): [[:@name, value], …]. */
static VALUE reflection_variables(VALUE self, VALUE object)
{
    VALUE pairs = rb_obj_instance_variables(object);
    for (long i = 0; i < RARRAY_LEN(pairs); i++) {
        VALUE name = RARRAY_AREF(pairs, i);
        rb_ary_store(pairs, i, rb_assoc_new(name, rb_ivar_get(object, rb_sym2id(name))));
    }
    return pairs;
}

void guildhall_init_plain_questions(VALUE guildhall)
{
    VALUE shareable = rb_define_module_under(guildhall, "Shareable");
    rb_define_singleton_method(shareable, "type_of", reflection_type_of, 1);
    rb_define_singleton_method(shareable, "frozen_object?", reflection_frozen_object_p, 1);
    rb_define_singleton_method(shareable, "variables", reflection_variables, 1);
}

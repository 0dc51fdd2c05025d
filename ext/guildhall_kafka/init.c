/* Initialises the native parts of the gem guildhall-kafka. */
#include <ruby.h>

RUBY_FUNC_EXPORTED void Init_native(void)
{
    rb_ext_ractor_safe(true);
    rb_define_module_under(rb_define_module("Guildhall"), "Kafka");
}

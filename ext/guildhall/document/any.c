/* What Documents of every format have in common, and encoders have to know of them. */
#include "any.h"
#include "init.h"
#include "memory/gc_block.h"
#include "values/frozen.h"

static VALUE documents; /* the module that all classes of Documents include */
static ID id_decode;

VALUE guildhall_frozen_bytes(VALUE source)
{
    StringValue(source);
    /* One without the flag that nothing of it can keep from getting it is not walked. */
    bool shareable = guildhall_shared(source) ||
                     (RB_OBJ_FROZEN_RAW(source) && (GUILDHALL_COLLECTOR_PER_RACTOR ? !rb_ivar_count(source) : rb_ractor_shareable_p(source)));
    if (shareable && !guildhall_borrows(source)) return source;
    return guildhall_share(rb_str_new(RSTRING_PTR(source), RSTRING_LEN(source)));
}

void guildhall_key_indexes_release(guildhall_key_indexes *indexes)
{
    size_t reported = guildhall_key_indexes_reported(indexes);
    if (reported) guildhall_gc_freed(reported);
    guildhall_key_indexes_free(indexes);
}

int guildhall_document_p(VALUE object)
{
    return !RB_SPECIAL_CONST_P(object) && RB_BUILTIN_TYPE(object) == T_DATA && RTEST(rb_obj_is_kind_of(object, documents));
}

VALUE guildhall_document_decoded_value(VALUE document) { return rb_funcallv(document, id_decode, 0, NULL); }

VALUE guildhall_document_dig_on(VALUE value, int count, const VALUE *keys)
{
    if (NIL_P(value) || !count) return value;
    if (!rb_respond_to(value, rb_intern("dig"))) rb_raise(rb_eTypeError, "%s does not have #dig method", rb_obj_classname(value));
    return rb_funcallv(value, rb_intern("dig"), count, keys);
}

void guildhall_init_document_plain(VALUE guildhall)
{
    id_decode = rb_intern("decode");
    documents = rb_define_module_under(guildhall, "Document");
    rb_gc_register_mark_object(documents);
}

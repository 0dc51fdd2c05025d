/* One struct a Ractor, which a decode looks up once. */
#include <ruby.h>
#include <ruby/ractor.h>
#include "caches.h"
#include "init.h"

static rb_ractor_local_key_t current;

static void caches_mark(void *pointer)
{
    const guildhall_caches *caches = pointer;
    guildhall_key_cache_mark(&caches->keys);
    guildhall_value_cache_mark(&caches->values);
    guildhall_hash_templates_mark(&caches->templates);
}

static size_t caches_memsize(const void *pointer) { return sizeof(guildhall_caches); }

/* Not write-barrier protected on purpose: there is one a Ractor, and every lookup would pay for it. */
static const rb_data_type_t type = {
    "Guildhall caches", {caches_mark, RUBY_TYPED_DEFAULT_FREE, caches_memsize}, 0, 0, RUBY_TYPED_FREE_IMMEDIATELY};

guildhall_caches *guildhall_caches_current(void)
{
    VALUE holder;
    if (rb_ractor_local_storage_value_lookup(current, &holder)) return RTYPEDDATA_GET_DATA(holder);
    guildhall_caches *caches;
    holder = TypedData_Make_Struct(0, guildhall_caches, &type, caches);
    rb_ractor_local_storage_value_set(current, holder);
    return caches;
}

void guildhall_init_caches(void)
{
    guildhall_init_key_cache();
    current = rb_ractor_local_storage_value_newkey();
}

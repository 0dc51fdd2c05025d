/* Initialises every native part of the gem guildhall. */
#include <ruby.h>
#include <ruby/ractor.h>
#include "init.h"

RUBY_FUNC_EXPORTED void Init_native(void)
{
    /* Before any method is defined: Ruby notes it with each of them. */
    rb_ext_ractor_safe(true);
    guildhall_check_ruby();
    VALUE guildhall = rb_define_module("Guildhall");
    guildhall_init_block_pool(guildhall);
    guildhall_init_gc_block();
    guildhall_init_values();
    guildhall_init_caches();
    guildhall_init_assumptions(guildhall);
    guildhall_init_document_plain(guildhall);
    guildhall_init_columns(guildhall);
    guildhall_init_text(guildhall);
    guildhall_init_json(guildhall);
    guildhall_init_msgpack(guildhall);
    guildhall_init_shared_cell(guildhall);
    guildhall_init_avro(guildhall);
    guildhall_init_share_plain(guildhall);
    guildhall_init_plain_copy();
    guildhall_init_schema(guildhall);
    guildhall_init_pipeline(guildhall);
    guildhall_init_waiter(guildhall);
    guildhall_init_queue(guildhall);
    guildhall_init_templates(guildhall);
    VALUE pool = rb_define_class_under(guildhall, "Pool", rb_cObject);
    guildhall_init_pool_task(guildhall);
    guildhall_init_pool_runnable(pool);
    guildhall_init_pool_fair_queue(pool);
    guildhall_init_pool_worker_slot(pool);
    guildhall_init_pool_batch(guildhall, pool);
    guildhall_init_pool_inline_run(guildhall, pool);
}

/* One initialiser a native part, each given the module Guildhall. */
#ifndef GUILDHALL_INIT_H
#define GUILDHALL_INIT_H
#include <ruby.h>

void guildhall_init_schema(VALUE guildhall);
void guildhall_init_pipeline(VALUE guildhall);
void guildhall_init_document_plain(VALUE guildhall);
void guildhall_init_columns(VALUE guildhall);
void guildhall_init_text(VALUE guildhall);
void guildhall_init_block_pool(VALUE guildhall);
void guildhall_init_gc_block(void);
void guildhall_init_values(void);
void guildhall_init_caches(void);
/* Raises LoadError on a Ruby that this version is not proved on. */
void guildhall_check_ruby(void);
void guildhall_init_assumptions(VALUE guildhall);
void guildhall_init_json(VALUE guildhall);
void guildhall_init_msgpack(VALUE guildhall);
void guildhall_init_shared_cell(VALUE guildhall);
void guildhall_init_avro(VALUE guildhall);
void guildhall_init_share_plain(VALUE guildhall);
void guildhall_init_plain_copy(void);
void guildhall_init_waiter(VALUE guildhall);
void guildhall_init_queue(VALUE guildhall);
void guildhall_init_templates(VALUE guildhall);
void guildhall_init_pool_task(VALUE guildhall);
void guildhall_init_pool_runnable(VALUE pool);
void guildhall_init_pool_fair_queue(VALUE pool);
void guildhall_init_pool_worker_slot(VALUE pool);
void guildhall_init_pool_batch(VALUE guildhall, VALUE pool);
void guildhall_init_pool_inline_run(VALUE guildhall, VALUE pool);

#endif

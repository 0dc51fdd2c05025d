/* Initialises the native part of the pool. */
#include "code.h"
#include "init.h"
#include "values.h"

void guildhall_init_pool_task(VALUE guildhall);
void guildhall_init_pool_runnable(VALUE pool);
void guildhall_init_pool_fair_queue(VALUE pool);
void guildhall_init_pool_worker_slot(VALUE pool);
void guildhall_init_pool_dispatched(void);
void guildhall_init_pool_batch(VALUE guildhall, VALUE pool);
void guildhall_init_pool_inline_run(VALUE pool);
void guildhall_init_pool_comparison(VALUE pool);

void guildhall_init_pool(VALUE guildhall)
{
    VALUE pool = rb_define_class_under(guildhall, "Pool", rb_cObject);
    guildhall_init_pool_task(guildhall);
    guildhall_init_pool_code(pool);
    guildhall_init_pool_values(guildhall, pool);
    guildhall_init_pool_runnable(pool);
    guildhall_init_pool_fair_queue(pool);
    guildhall_init_pool_worker_slot(pool);
    guildhall_init_pool_dispatched();
    guildhall_init_pool_batch(guildhall, pool);
    guildhall_init_pool_inline_run(pool);
    guildhall_init_pool_comparison(pool);
}

/* Initialises the native part of the pool. */
#include "pool_generation.h"
#include "pool_run.h"
#include "init.h"

void guildhall_init_pool_task(VALUE guildhall);
void guildhall_init_pool_profile(VALUE pool);
void guildhall_init_pool_fair_queue(VALUE pool);
void guildhall_init_pool_seat(VALUE pool);
void guildhall_init_pool_batch(VALUE guildhall, VALUE pool);
void guildhall_init_pool_at_once(VALUE guildhall, VALUE pool);

void guildhall_init_pool(VALUE guildhall)
{
    VALUE pool = rb_define_class_under(guildhall, "Pool", rb_cObject);
    guildhall_init_pool_generation();
    guildhall_init_pool_task(guildhall);
    guildhall_init_pool_run();
    guildhall_init_pool_profile(pool);
    guildhall_init_pool_fair_queue(pool);
    guildhall_init_pool_seat(pool);
    guildhall_init_pool_batch(guildhall, pool);
    guildhall_init_pool_at_once(guildhall, pool);
}

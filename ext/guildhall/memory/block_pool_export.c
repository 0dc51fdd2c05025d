/* Guildhall::NATIVE_BLOCK_POOL: where other extensions find the blocks. */
#include <ruby.h>
#include <guildhall/block_pool.h>
#include "block_pool.h"
#include "gc_block.h"
#include "init.h"

static const guildhall_block_pool blocks = {GUILDHALL_BLOCK_POOL_ABI, guildhall_block_take, guildhall_block_give, guildhall_gc_block_adopt, guildhall_gc_freed};

void guildhall_init_block_pool(VALUE guildhall)
{
    rb_define_const(guildhall, "NATIVE_BLOCK_POOL", ULL2NUM((uint64_t)(uintptr_t)&blocks));
    rb_funcall(guildhall, rb_intern("private_constant"), 1, ID2SYM(rb_intern("NATIVE_BLOCK_POOL")));
}

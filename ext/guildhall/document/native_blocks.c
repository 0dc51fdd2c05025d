/* Guildhall::NATIVE_BLOCKS: where other extensions find the blocks. */
#include <ruby.h>
#include <guildhall/blocks.h>
#include "blocks.h"
#include "../init.h"

static const guildhall_blocks blocks = {GUILDHALL_BLOCKS_ABI, guildhall_block_take, guildhall_block_give};

void guildhall_init_native_blocks(VALUE guildhall)
{
    rb_define_const(guildhall, "NATIVE_BLOCKS", ULL2NUM((uint64_t)(uintptr_t)&blocks));
    rb_funcall(guildhall, rb_intern("private_constant"), 1, ID2SYM(rb_intern("NATIVE_BLOCKS")));
}

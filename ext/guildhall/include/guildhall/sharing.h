/* How objects become shareable, on every Ruby, in one place; for the extensions of the gems guildhall and guildhall-kafka alone.
 *
 * Up to Ruby 4.0 there is one collector: it stops all Ractors and finds what any of them refers to. Shareability is a flag there, which
 * may be set by hand on what is frozen to its last part: nothing has to be walked afterwards.
 *
 * From 4.1 on each Ractor has a collector of its own, which does not see what others refer to. It keeps what is shareable, and knows that
 * from a table that only Ruby's own functions write to. So objects are made frozen, without the flag, and are shared (a walk) at the
 * place where they leave their Ractor. See docs/collectors.md for the rules. */
#ifndef GUILDHALL_SHARING_H
#define GUILDHALL_SHARING_H

#include <ruby.h>
#include <ruby/ractor.h>
#include <ruby/version.h>
#include <stdbool.h>

#define GUILDHALL_COLLECTOR_PER_RACTOR (RUBY_API_VERSION_CODE >= 40100)

/* Flags of the type of an object that several Ractors use. A collector per Ractor takes it for granted that every shareable object is
 * protected by write barriers: see guildhall_refers. */
#if GUILDHALL_COLLECTOR_PER_RACTOR
#define GUILDHALL_SHARED_TYPE (RUBY_TYPED_FROZEN_SHAREABLE | RUBY_TYPED_WB_PROTECTED)
#else
#define GUILDHALL_SHARED_TYPE RUBY_TYPED_FROZEN_SHAREABLE
#endif

/* Marks a new object, not seen by anyone yet, as frozen; and as shareable where that takes no walk: all that the flag promises is true by
 * construction, since its parts were made here as well, or are shareable. */
static inline VALUE guildhall_share(VALUE object)
{
    RB_FL_SET_RAW(object, GUILDHALL_COLLECTOR_PER_RACTOR ? RUBY_FL_FREEZE : RUBY_FL_FREEZE | RUBY_FL_SHAREABLE);
    return object;
}

/* What guildhall_share was called on, to its last part, may go to other Ractors from now on. What is shareable already costs nothing. */
static inline VALUE guildhall_hand_over(VALUE object) { return GUILDHALL_COLLECTOR_PER_RACTOR ? rb_ractor_make_shareable(object) : object; }

/* Whether it is known to be shareable, without a walk. */
static inline bool guildhall_shared(VALUE object) { return RB_SPECIAL_CONST_P(object) || RB_FL_ANY_RAW(object, RUBY_FL_SHAREABLE); }

/* To be called after `object`, of a type with GUILDHALL_SHARED_TYPE, has come to refer to another one. With the GVL. Up to 4.0 such objects
 * are looked at in every collection instead, because a write barrier costs a lock there. */
static inline void guildhall_refers(VALUE object, VALUE to)
{
    if (GUILDHALL_COLLECTOR_PER_RACTOR) RB_OBJ_WRITTEN(object, Qundef, to);
}

#endif

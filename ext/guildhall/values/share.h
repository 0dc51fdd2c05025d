/* Makes what a task or a parser has just made shareable, in place. */
#ifndef GUILDHALL_VALUES_SHARE_H
#define GUILDHALL_VALUES_SHARE_H

#include <ruby.h>
#include <stdbool.h>

/* Whether all of it is shareable now. Where it is not, nothing has been frozen or changed: something inside is of a kind that is
 * not known here (Ruby may know how to share it, or not at all). Runs no Ruby code and raises nothing, except where memory runs out. */
bool guildhall_share_plain(VALUE object);
/* The same for what its Ractor keeps: where each Ractor has a collector of its own it is frozen to its last part, and Ruby's walk will find
 * it shareable if anyone asks. */
bool guildhall_freeze_plain(VALUE object);
/* As Ractor.shareable? has it, but Ruby's own walk through a Set may wait for ever for a collection that another Ractor has begun. */
bool guildhall_shareable(VALUE object);
bool guildhall_frozen(VALUE object);
/* A String as a frozen, shareable one of the same bytes: itself where it is frozen; 0 where its instance variables have to be looked at.
 * Into what is shareable nothing is written: another Ractor may be at work on it. */
VALUE guildhall_shareable_string(VALUE string);

#endif

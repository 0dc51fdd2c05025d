/* How long to spin before sleeping. */
#ifndef GUILDHALL_WAITING_PATIENCE_H
#define GUILDHALL_WAITING_PATIENCE_H

#include "waitlist.h"

/* Attempts for as long as it seems to pay. Needs the GVL; raises what interrupts the thread. Non-zero: the attempt has
 * succeeded. */
int guildhall_spin(guildhall_patience *patience, guildhall_attempt attempt, void *context);

#endif

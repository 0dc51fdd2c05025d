/* Counts forks: what was made before the last one belongs to a process that had other threads. Its locks may be held by
 * threads that are not here, and the workers it counts on do not exist. */
#ifndef GUILDHALL_POOL_FORK_GENERATION_H
#define GUILDHALL_POOL_FORK_GENERATION_H

unsigned guildhall_fork_generation(void);
void guildhall_init_pool_fork_generation(void);

#endif

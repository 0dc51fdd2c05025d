/* The sources that have work in line: a circle in which they take turns, and a trie by key that finds one. No Ruby in it.
 *
 * The trie needs no table that grows: each node is a source, and each step down is chosen by the next two bits of the key, well
 * mixed. Mixing keeps different keys different, so that whatever the keys are, no path has more than 33 sources; of 100,000 it
 * looks at about 9. A source that leaves takes its memory with it. */
#ifndef GUILDHALL_POOL_SOURCES_H
#define GUILDHALL_POOL_SOURCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct guildhall_batch;

typedef struct guildhall_source {
    uint64_t key;
    struct guildhall_source *next; /* the circle of those that have work */
    struct guildhall_source *children[4]; /* the trie */
    bool shared;                   /* in the trie: later batches of its key join it */
    struct guildhall_batch *first, *last;
    size_t payloads;
    unsigned weight, turns;        /* slices a turn, and those left of this one */
} guildhall_source;

typedef struct {
    guildhall_source *last;        /* its next one has the turn; NULL: nothing waits */
    guildhall_source *root;
    uint64_t compared;             /* sources that were looked at to find one, so far */
} guildhall_sources;

/* Where the shared source of this key is; where it would be, NULL is. */
guildhall_source **guildhall_sources_place_of(guildhall_sources *, uint64_t key);
/* A new source, whose turn is the farthest away; shared if it is given its place. NULL: no memory. */
guildhall_source *guildhall_sources_join(guildhall_sources *, uint64_t key, guildhall_source **place);
/* Takes the source whose turn it is out, and frees it. */
void guildhall_sources_leave(guildhall_sources *);
void guildhall_sources_free(guildhall_sources *);

#endif

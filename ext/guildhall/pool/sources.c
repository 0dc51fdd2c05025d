/* The circle of sources, and the trie beside it. */
#include "sources.h"
#include <stdlib.h>
#include <string.h>

/* Reversible, so that different keys differ in some of the bits below (the finalizer of MurmurHash3). */
static uint64_t pool_sources_mix(uint64_t key)
{
    key = (key ^ key >> 33) * 0xff51afd7ed558ccdull;
    key = (key ^ key >> 33) * 0xc4ceb9fe1a85ec53ull;
    return key ^ key >> 33;
}

guildhall_source **guildhall_sources_place_of(guildhall_sources *sources, uint64_t key)
{
    guildhall_source **place = &sources->root;
    for (uint64_t path = pool_sources_mix(key); *place; path >>= 2) {
        sources->compared++;
        if ((*place)->key == key) break;
        place = &(*place)->children[path & 3];
    }
    return place;
}

guildhall_source *guildhall_sources_join(guildhall_sources *sources, uint64_t key, guildhall_source **place)
{
    guildhall_source *source = calloc(1, sizeof(guildhall_source));
    if (!source) return NULL;
    source->key = key;
    source->shared = place != NULL;
    if (place) *place = source;
    source->next = sources->last ? sources->last->next : source;
    if (sources->last) sources->last->next = source;
    sources->last = source;
    return source;
}

static guildhall_source **pool_sources_place_below(guildhall_source *source)
{
    for (int way = 0; way < 4; way++) {
        if (source->children[way]) return &source->children[way];
    }
    return NULL;
}

/* Any leaf below it may take its place: the way there is the beginning of that leaf's. */
static void pool_sources_unhang(guildhall_source **place)
{
    guildhall_source *gone = *place, **leaf = place, **below;
    while ((below = pool_sources_place_below(*leaf))) leaf = below;
    guildhall_source *heir = *leaf;
    *leaf = NULL;
    if (heir == gone) return;
    memcpy(heir->children, gone->children, sizeof gone->children);
    *place = heir;
}

void guildhall_sources_leave(guildhall_sources *sources)
{
    guildhall_source *gone = sources->last->next;
    if (gone->shared) pool_sources_unhang(guildhall_sources_place_of(sources, gone->key));
    if (gone == sources->last) sources->last = NULL;
    else sources->last->next = gone->next;
    free(gone);
}

void guildhall_sources_free(guildhall_sources *sources)
{
    while (sources->last) guildhall_sources_leave(sources);
}

/* The circle of sources, and the trie beside it. */
#include "sources.h"
#include <stdlib.h>

/* Reversible, so that different keys differ in some of the bits below (the finalizer of MurmurHash3). */
static uint64_t pool_sources_mix(uint64_t key)
{
    key = (key ^ key >> 33) * 0xff51afd7ed558ccdull;
    key = (key ^ key >> 33) * 0xc4ceb9fe1a85ec53ull;
    return key ^ key >> 33;
}

guildhall_source *guildhall_sources_find(guildhall_sources *sources, uint64_t key)
{
    guildhall_source *source = sources->root;
    for (uint64_t path = pool_sources_mix(key); source; path >>= 2) {
        sources->compared++;
        if (source->key == key) break;
        source = source->children[path & 3];
    }
    return source;
}

static void pool_sources_hang(guildhall_sources *sources, guildhall_source *source)
{
    guildhall_source *parent = NULL, **place = &sources->root;
    for (uint64_t path = pool_sources_mix(source->key); *place; path >>= 2) {
        parent = *place;
        place = &parent->children[path & 3];
    }
    source->parent = parent;
    *place = source;
}

static guildhall_source **pool_sources_place_of(guildhall_sources *sources, const guildhall_source *source)
{
    if (!source->parent) return &sources->root;
    for (int way = 0; way < 3; way++) {
        if (source->parent->children[way] == source) return &source->parent->children[way];
    }
    return &source->parent->children[3];
}

static guildhall_source *pool_sources_child_of(const guildhall_source *source)
{
    for (int way = 0; way < 4; way++) {
        if (source->children[way]) return source->children[way];
    }
    return NULL;
}

/* Any leaf below it may take its place: the way there is the beginning of that leaf's. */
static void pool_sources_unhang(guildhall_sources *sources, guildhall_source *source)
{
    guildhall_source *leaf = source, *child;
    while ((child = pool_sources_child_of(leaf))) leaf = child;
    *pool_sources_place_of(sources, leaf) = NULL;
    if (leaf == source) return;
    *pool_sources_place_of(sources, source) = leaf;
    leaf->parent = source->parent;
    for (int way = 0; way < 4; way++) {
        leaf->children[way] = source->children[way];
        if (leaf->children[way]) leaf->children[way]->parent = leaf;
    }
}

guildhall_source *guildhall_sources_join(guildhall_sources *sources, uint64_t key, bool shared)
{
    guildhall_source *source = calloc(1, sizeof(guildhall_source));
    if (!source) return NULL;
    source->key = key;
    source->shared = shared;
    if (shared) pool_sources_hang(sources, source);
    source->next = sources->last ? sources->last->next : source;
    if (sources->last) sources->last->next = source;
    sources->last = source;
    return source;
}

void guildhall_sources_leave(guildhall_sources *sources)
{
    guildhall_source *gone = sources->last->next;
    if (gone->shared) pool_sources_unhang(sources, gone);
    if (gone == sources->last) sources->last = NULL;
    else sources->last->next = gone->next;
    free(gone);
}

void guildhall_sources_free(guildhall_sources *sources)
{
    while (sources->last) {
        guildhall_source *first = sources->last->next;
        sources->last = first == sources->last ? NULL : (sources->last->next = first->next, sources->last);
        free(first);
    }
    sources->root = NULL;
}

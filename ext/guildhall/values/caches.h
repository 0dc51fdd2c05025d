/* What the decoders of one Ractor remember between payloads, because payloads of one kind repeat: keys, short strings, and
 * which keys Hashes have. Needs the GVL. */
#ifndef GUILDHALL_VALUES_CACHES_H
#define GUILDHALL_VALUES_CACHES_H

#include "hash_template.h"
#include "key_cache.h"
#include "value_cache.h"

typedef struct {
    guildhall_key_cache keys;
    guildhall_value_cache values;
    guildhall_hash_templates templates;
} guildhall_caches;

/* The current Ractor's. Valid until the caller returns to Ruby. */
guildhall_caches *guildhall_caches_current(void);

#endif

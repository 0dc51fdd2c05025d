/* What the decoders of binary formats build values with. Needs the GVL. */
#ifndef GUILDHALL_VALUES_BUILDER_H
#define GUILDHALL_VALUES_BUILDER_H

#include "caches.h"
#include "memory/value_stack.h"
#include "text/ascii.h"
#include "text/utf8.h"

typedef struct {
    guildhall_caches *caches;
    uint32_t hint; /* of keys, for the cache */
    guildhall_value_stack stack;
} guildhall_builder;

static inline void guildhall_builder_init(guildhall_builder *builder)
{
    builder->caches = guildhall_caches_current();
    builder->hint = 0;
    guildhall_value_stack_init(&builder->stack);
}

/* Returns the status of both formats for what is valid. */
static inline int guildhall_builder_push(guildhall_builder *builder, VALUE value)
{
    guildhall_value_stack_push(&builder->stack, value);
    return 0;
}

/* Closes a container: makes an Array, or a Hash of pairs, of the values from `base` on. */
static inline VALUE guildhall_builder_close(guildhall_builder *builder, size_t base, int map)
{
    const VALUE *first = builder->stack.values + base;
    long count = (long)(builder->stack.count - base);
    VALUE made = map ? guildhall_hash_from_template(&builder->caches->templates, count / 2, first) : guildhall_array_new(count, first);
    builder->stack.count = base;
    return made;
}

/* Qundef: it is not UTF-8. With allow_invalid it is checked only when the String is asked. */
static inline VALUE guildhall_builder_text(guildhall_builder *builder, const uint8_t *bytes, size_t length, int allow_invalid)
{
    if (RB_LIKELY(guildhall_ascii(bytes, length))) {
        return guildhall_string_cached(&builder->caches->values, bytes, length, GUILDHALL_TEXT_ASCII);
    }
    if (allow_invalid) return guildhall_string_new(bytes, length, GUILDHALL_TEXT_UNCHECKED);
    if (guildhall_utf8_classify(bytes, length) == GUILDHALL_UTF8_INVALID) return Qundef;
    return guildhall_string_new(bytes, length, GUILDHALL_TEXT_UTF8);
}

/* The same for a key. */
static inline VALUE guildhall_builder_key(guildhall_builder *builder, const uint8_t *bytes, size_t length, int allow_invalid, int symbol)
{
    if (RB_UNLIKELY(!allow_invalid) && !guildhall_ascii(bytes, length) &&
        guildhall_utf8_classify(bytes, length) == GUILDHALL_UTF8_INVALID) return Qundef;
    return guildhall_key_cached(&builder->caches->keys, &builder->hint, bytes, length, GUILDHALL_TEXT_UNCHECKED, symbol);
}

#endif

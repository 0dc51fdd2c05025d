/* The memory that indexes are built in: one a native thread, kept from payload to payload. */
#include <string.h>
#include "memory/thread_memory.h"
#include "structural_index.h"

#define FIRST_WORDS 256
#define KEPT_WORDS ((size_t)1 << 18) /* 1 MiB */

int guildhall_words_grow(guildhall_words *words)
{
    size_t capacity = words->capacity ? words->capacity * 2 : FIRST_WORDS;
    uint32_t *grown = realloc(words->words, capacity * sizeof *grown);
    if (!grown) return 0;
    words->words = grown;
    words->capacity = capacity;
    return 1;
}

void guildhall_index_builder_free(guildhall_index_builder *builder)
{
    free(builder->entries.words);
    free(builder->samples.words);
    memset(builder, 0, sizeof *builder);
}

GUILDHALL_THREAD_MEMORY(guildhall_index_builder, guildhall_index_builder_current, guildhall_index_builder_free)

void guildhall_index_builder_trim(void)
{
    guildhall_index_builder *builder = guildhall_index_builder_current();
    if (builder && builder->entries.capacity + builder->samples.capacity > KEPT_WORDS) guildhall_index_builder_free(builder);
}

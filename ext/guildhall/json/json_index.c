/* A hash table of the keys of all large objects, and of every sixteenth element of all large arrays. */
#include <stdlib.h>
#include "json_duplicates.h"
#include "json_index.h"

#define STRIDE 16
#define LONGEST_ON_STACK 256

typedef struct {
    uint32_t container; /* its index on the tape */
    uint32_t child;     /* key or element; 0: an empty place */
    uint32_t position;  /* in an array */
} entry;

struct guildhall_json_index {
    uint64_t seed;
    size_t mask;
    entry entries[];
};

static int is_large(guildhall_json_node node)
{
    return guildhall_json_is_container(node) && guildhall_json_length(node) > GUILDHALL_JSON_SMALL;
}

static size_t entries_of(guildhall_json_node node)
{
    size_t length = guildhall_json_length(node);
    return guildhall_json_type_of(node) == GUILDHALL_JSON_OBJECT ? length : length / STRIDE + 1;
}

static size_t member_place(const guildhall_json_index *index, uint32_t object, const uint8_t *text, size_t length)
{
    return guildhall_json_hash(text, length, index->seed ^ object * 0x9E3779B97F4A7C15ull) & index->mask;
}

static size_t element_place(const guildhall_json_index *index, uint32_t array, uint32_t position)
{
    uint64_t hash = guildhall_json_mix(((uint64_t)array << 32 | position) ^ index->seed, 0x9E3779B97F4A7C15ull);
    return (size_t)(hash ^ hash >> 32) & index->mask;
}

static void put(guildhall_json_index *index, size_t place, entry new_entry)
{
    while (index->entries[place].child) place = (place + 1) & index->mask;
    index->entries[place] = new_entry;
}

static int put_key(guildhall_json_index *index, guildhall_json_view view, uint32_t object, uint32_t key)
{
    guildhall_json_node node = view.nodes[key];
    const uint8_t *text = guildhall_json_source(view, node);
    size_t length = guildhall_json_length(node);
    uint8_t on_stack[LONGEST_ON_STACK], *buffer = on_stack;
    if (guildhall_json_type_of(node) == GUILDHALL_JSON_ESCAPED) {
        if (length > sizeof on_stack && !(buffer = malloc(length))) return 0;
        length = guildhall_json_unescape(text, length, buffer);
        text = buffer;
    }
    put(index, member_place(index, object, text, length), (entry){object, key, 0});
    if (buffer != on_stack) free(buffer);
    return 1;
}

static int put_container(guildhall_json_index *index, guildhall_json_view view, uint32_t container)
{
    int object = guildhall_json_type_of(view.nodes[container]) == GUILDHALL_JSON_OBJECT;
    uint32_t end = guildhall_json_offset(view.nodes[container]), position = 0;
    for (uint32_t child = container + 1; child < end; child = guildhall_json_next(view.nodes, child + (uint32_t)object)) {
        if (object) {
            if (!put_key(index, view, container, child)) return 0;
        } else if (position % STRIDE == 0) {
            put(index, element_place(index, container, position), (entry){container, child, position});
        }
        position++;
    }
    return 1;
}

guildhall_json_index *guildhall_json_index_new(guildhall_json_view view, uint32_t count, uint64_t seed)
{
    size_t entries = 0, capacity = 64;
    for (uint32_t i = 0; i < count; i++) entries += is_large(view.nodes[i]) ? entries_of(view.nodes[i]) : 0;
    if (!entries) return NULL;
    while (capacity < entries + entries / 2) capacity *= 2;
    guildhall_json_index *index = calloc(1, sizeof *index + capacity * sizeof(entry));
    if (!index) return NULL;
    index->seed = seed;
    index->mask = capacity - 1;
    for (uint32_t i = 0; i < count; i++) {
        if (!is_large(view.nodes[i]) || put_container(index, view, i)) continue;
        free(index);
        return NULL;
    }
    return index;
}

void guildhall_json_index_free(guildhall_json_index *index) { free(index); }

size_t guildhall_json_index_size(const guildhall_json_index *index)
{
    return sizeof *index + (index->mask + 1) * sizeof(entry);
}

uint32_t guildhall_json_index_member(const guildhall_json_index *index, guildhall_json_view view, uint32_t object,
                                     const uint8_t *key, size_t length)
{
    size_t place = member_place(index, object, key, length);
    for (; index->entries[place].child; place = (place + 1) & index->mask) {
        const entry *found = &index->entries[place];
        if (found->container == object && guildhall_json_text_equals(view, view.nodes[found->child], key, length)) {
            return found->child + 1;
        }
    }
    return 0;
}

uint32_t guildhall_json_index_element(const guildhall_json_index *index, guildhall_json_view view, uint32_t array,
                                      uint32_t position)
{
    uint32_t start = position - position % STRIDE;
    size_t place = element_place(index, array, start);
    while (index->entries[place].container != array || index->entries[place].position != start) {
        place = (place + 1) & index->mask;
    }
    uint32_t child = index->entries[place].child;
    for (; start < position; start++) child = guildhall_json_next(view.nodes, child);
    return child;
}

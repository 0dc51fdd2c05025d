/* A hash table of the keys of each large object, and a list of every sixteenth element of each large array, all in one
 * block: sections one after the other, and a directory of them. Four bytes a place, and exactly as many places as are
 * needed: this is the memory that a Document takes beyond its tape. */
#include <stdlib.h>
#include "../key_hash.h"
#include "json_index.h"

#define STRIDE 16
#define LONGEST_ON_STACK 256

typedef struct {
    uint32_t container; /* its index on the tape */
    uint32_t first;     /* of its places; 0: an empty entry */
} section;

struct guildhall_json_index {
    uint64_t seed;
    uint32_t sections, places; /* how many there is room for */
    section directory[];       /* then the places: indexes on the tape; 0: an empty one. The first is not used */
};

static uint32_t *places_of(const guildhall_json_index *index) { return (uint32_t *)(index->directory + index->sections); }

/* Elements that are no containers stand side by side: the last's place is known. */
static int is_flat(guildhall_json_view view, uint32_t array)
{
    guildhall_json_node node = view.nodes[array];
    return guildhall_json_offset(node) - array - 1 == guildhall_json_length(node);
}

static int is_object(guildhall_json_node node) { return guildhall_json_type_of(node) == GUILDHALL_JSON_OBJECT; }

/* An array is walked for a stride anyway: a short one is walked for two. */
static int has_section(guildhall_json_view view, uint32_t container)
{
    guildhall_json_node node = view.nodes[container];
    if (!guildhall_json_is_container(node)) return 0;
    if (is_object(node)) return guildhall_json_length(node) > GUILDHALL_JSON_SMALL;
    return guildhall_json_length(node) > 2 * STRIDE && !is_flat(view, container);
}

/* Of an object half as many again as it has keys; of an array one for each sixteenth element but the first. */
static uint32_t places_for(guildhall_json_node node)
{
    uint32_t length = guildhall_json_length(node);
    return is_object(node) ? length + length / 2 + 1 : (length - 1) / STRIDE;
}

/* The section of a container, or the empty entry where it belongs. */
static section *section_of(const guildhall_json_index *index, uint32_t container)
{
    uint64_t hash = guildhall_mix(container ^ index->seed, 0x9E3779B97F4A7C15ull);
    uint32_t at = guildhall_key_place((uint32_t)(hash ^ hash >> 32), index->sections);
    section *entries = (section *)index->directory;
    while (entries[at].first && entries[at].container != container) at = at + 1 == index->sections ? 0 : at + 1;
    return &entries[at];
}

static int put_key(uint64_t seed, guildhall_json_view view, uint32_t key, uint32_t *places, uint32_t count)
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
    uint32_t at = guildhall_key_place(guildhall_key_hash(text, length, seed), count);
    while (places[at]) at = at + 1 == count ? 0 : at + 1;
    places[at] = key;
    if (buffer != on_stack) free(buffer);
    return 1;
}

static int put_keys(guildhall_json_index *index, guildhall_json_view view, uint32_t object, uint32_t *places)
{
    uint32_t end = guildhall_json_offset(view.nodes[object]), count = places_for(view.nodes[object]);
    for (uint32_t key = object + 1; key < end; key = guildhall_json_next(view.nodes, key + 1)) {
        if (!put_key(index->seed, view, key, places, count)) return 0;
    }
    return 1;
}

static void put_elements(guildhall_json_view view, uint32_t array, uint32_t *places)
{
    uint32_t length = guildhall_json_length(view.nodes[array]), child = array + 1;
    for (uint32_t position = 0; position < length; position++, child = guildhall_json_next(view.nodes, child)) {
        if (position && position % STRIDE == 0) places[position / STRIDE - 1] = child;
    }
}

static int fill(guildhall_json_index *index, guildhall_json_view view, uint32_t count)
{
    uint32_t next = 1;
    for (uint32_t i = 0; i < count; i++) {
        if (!has_section(view, i)) continue;
        *section_of(index, i) = (section){i, next};
        uint32_t *places = places_of(index) + next;
        if (!is_object(view.nodes[i])) put_elements(view, i, places);
        else if (!put_keys(index, view, i, places)) return 0;
        next += places_for(view.nodes[i]);
    }
    return 1;
}

guildhall_json_index *guildhall_json_index_new(guildhall_json_view view, uint32_t count, uint64_t seed)
{
    size_t sections = 0, places = 1;
    for (uint32_t i = 0; i < count; i++) {
        if (!has_section(view, i)) continue;
        sections++;
        places += places_for(view.nodes[i]);
    }
    if (!sections) return NULL;
    sections += sections / 2 + 1;
    guildhall_json_index *index = calloc(1, sizeof *index + sections * sizeof(section) + places * sizeof(uint32_t));
    if (!index) return NULL;
    index->seed = seed;
    index->sections = (uint32_t)sections;
    index->places = (uint32_t)places;
    if (fill(index, view, count)) return index;
    free(index);
    return NULL;
}

void guildhall_json_index_free(guildhall_json_index *index) { free(index); }

size_t guildhall_json_index_size(const guildhall_json_index *index)
{
    return sizeof *index + index->sections * sizeof(section) + index->places * sizeof(uint32_t);
}

uint32_t guildhall_json_index_member(const guildhall_json_index *index, guildhall_json_view view, uint32_t object,
                                     const uint8_t *key, size_t length)
{
    const uint32_t *places = places_of(index) + section_of(index, object)->first;
    uint32_t count = places_for(view.nodes[object]);
    uint32_t at = guildhall_key_place(guildhall_key_hash(key, length, index->seed), count);
    for (; places[at]; at = at + 1 == count ? 0 : at + 1) {
        if (guildhall_json_text_equals(view, view.nodes[places[at]], key, length)) return places[at] + 1;
    }
    return 0;
}

uint32_t guildhall_json_index_element(const guildhall_json_index *index, guildhall_json_view view, uint32_t array,
                                      uint32_t position)
{
    if (is_flat(view, array)) return array + 1 + position;
    uint32_t sampled = position / STRIDE, child = array + 1;
    if (sampled && has_section(view, array)) {
        child = places_of(index)[section_of(index, array)->first + sampled - 1];
        position %= STRIDE;
    }
    while (position--) child = guildhall_json_next(view.nodes, child);
    return child;
}

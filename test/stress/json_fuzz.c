/* Feeds mutated texts to the JSON reader without Ruby, for the sanitizers: build with -fsanitize=address,undefined (the
 * test beside it does). Usage: json_fuzz SEED ROUNDS FILE… where each file holds one text a line. Every text lies in
 * memory of its own exact size, so that one byte too far is seen. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "json/index.h"
#include "json/locate.h"
#include "json/parse.h"
#include "json/shortest.h"
#include "json/source.h"
#include "text/utf8.h"

static uint64_t state;

static uint64_t next_random(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

static size_t below(size_t limit) { return limit ? (size_t)(next_random() % limit) : 0; }

typedef struct {
    uint8_t *bytes;
    size_t length;
} text;

static text *corpus;
static size_t corpus_size;

static void load(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *line = NULL;
    size_t room = 0;
    long length;
    while (file && (length = getline(&line, &room, file)) > 0) {
        if (line[length - 1] == '\n') length--;
        corpus = realloc(corpus, (corpus_size + 1) * sizeof *corpus);
        corpus[corpus_size++] = (text){memcpy(malloc((size_t)length + 1), line, (size_t)length), (size_t)length};
    }
    free(line);
    if (file) fclose(file);
}

static text mutate(const text *original)
{
    static const char *splices[] = {"\"", "\\", "\\u", "\\ud800", "[", "]", "{", "}", ",", ":", "\xff", "\xe2\x82", "0", "-", "1e", ".5",
                                    "NaN", "true", "\"a\":1,\"a\":2", "[[[[[[[[", "{\"k\":", "99999999999999999999", " ", "\n", "\x01"};
    text made = {malloc(original->length * 2 + 64), original->length};
    memcpy(made.bytes, original->bytes, original->length);
    for (size_t edits = 1 + below(4); edits--;) {
        size_t at = below(made.length + 1), span;
        switch (below(5)) {
        case 0: if (made.length) made.bytes[at % made.length] ^= (uint8_t)(1 << below(8)); break;
        case 1: made.length = at; break;
        case 2: /* leave a span out */
            span = below(made.length - at + 1);
            memmove(made.bytes + at, made.bytes + at + span, made.length - at - span);
            made.length -= span;
            break;
        case 3: { /* put something in */
            const char *splice = splices[below(sizeof splices / sizeof *splices)];
            span = strlen(splice);
            if (made.length + span > original->length * 2 + 64) break;
            memmove(made.bytes + at + span, made.bytes + at, made.length - at);
            memcpy(made.bytes + at, splice, span);
            made.length += span;
            break;
        }
        default: /* say something twice */
            span = below(made.length - at + 1);
            if (made.length + span > original->length * 2 + 64) break;
            memmove(made.bytes + at + span, made.bytes + at, made.length - at);
            made.length += span;
        }
    }
    text exact = {malloc(made.length ? made.length : 1), made.length};
    memcpy(exact.bytes, made.bytes, made.length);
    free(made.bytes);
    return exact;
}

/* Of everything that was found: the same on every machine and every path. */
static uint64_t digest = 14695981039346656037ull;

static void note(uint64_t found)
{
    digest = (digest ^ found) * 1099511628211ull;
    digest ^= digest >> 29;
}

static void note_double(double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    note(number == number ? bits : 1); /* NaNs have a sign that nobody asked for */
}

static void note_bytes(const void *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) note(((const uint8_t *)bytes)[i]);
}

static void read_all(guildhall_json_view view, size_t count, size_t length)
{
    uint8_t *buffer = malloc(length + 1);
    guildhall_key_indexes indexes = {0}; /* made after a little walking, as of a tape of no nodes */
    for (uint32_t i = 0; i < count; i++) {
        guildhall_json_node node = view.nodes[i];
        switch (guildhall_json_type_of(node)) {
        case GUILDHALL_JSON_ESCAPED:
            note_bytes(buffer, guildhall_json_unescape(guildhall_json_source(view, node), guildhall_json_length(node), buffer));
            break;
        case GUILDHALL_JSON_FLOAT: case GUILDHALL_JSON_CONSTANT: note_double(guildhall_json_double(view, node)); break;
        case GUILDHALL_JSON_OBJECT: {
            if (!guildhall_json_length(node)) break;
            guildhall_json_node key = view.nodes[i + 1];
            const uint8_t *name = guildhall_json_source(view, key);
            size_t size = guildhall_json_length(key);
            if (guildhall_json_type_of(key) == GUILDHALL_JSON_ESCAPED) {
                size = guildhall_json_unescape(name, size, buffer);
                name = buffer;
            }
            uint32_t found = guildhall_json_find(view, i, name, size);
            if (found != i + 2) abort();
            for (int turn = 0; turn < 2; turn++) {
                if (guildhall_json_member(view, &indexes, i, name, size) != found) abort();
            }
            break;
        }
        case GUILDHALL_JSON_ARRAY:
            if (guildhall_json_length(node)) {
                uint32_t last = guildhall_json_length(node) - 1, child = i + 1;
                for (uint32_t n = last; n--;) child = guildhall_json_next(view.nodes, child);
                if (guildhall_json_element(view, &indexes, i, last) != child) abort();
            }
            break;
        default: break;
        }
    }
    guildhall_key_indexes_free(&indexes);
    free(buffer);
}

/* The same by looking back and from an index, which is made at once where much was walked past before. */
static void check_range(guildhall_json_view view, uint32_t container)
{
    guildhall_key_indexes fresh = {.entries = UINT32_MAX}, walked = {.walked = 1u << 30};
    guildhall_json_range range = guildhall_json_range_of(view, &fresh, container);
    for (int turn = 0; turn < 2; turn++) {
        guildhall_json_range other = guildhall_json_range_of(view, &walked, container);
        if (other.begin != range.begin || other.end != range.end) abort();
    }
    if (!guildhall_key_indexes_size(&walked)) abort();
    note(range.begin);
    note(range.end);
    guildhall_key_indexes_free(&walked);
}

static void check(const text *given, guildhall_json_rules rules)
{
    guildhall_json_outcome outcome = guildhall_json_parse(given->bytes, given->length, &rules, guildhall_json_scratch_current());
    note(outcome.status);
    note(outcome.status == GUILDHALL_JSON_VALID ? outcome.count : outcome.error_offset);
    if (outcome.status == GUILDHALL_JSON_VALID) {
        for (size_t i = 0; i < outcome.count; i++) note(guildhall_json_scratch_current()->nodes[i]);
        guildhall_json_view view = {given->bytes, given->bytes + given->length, guildhall_json_scratch_current()->nodes};
        if (guildhall_json_next(view.nodes, 0) != outcome.count) abort();
        read_all(view, outcome.count, given->length);
        for (uint32_t i = 0; i < outcome.count && !outcome.deduplicated && i < 50; i++) {
            if (guildhall_json_is_container(view.nodes[i])) check_range(view, i);
        }
    } else {
        guildhall_json_location location;
        if (outcome.error_offset > given->length) abort();
        guildhall_json_locate(given->bytes, given->length, outcome.error_offset, &location);
    }
    note(guildhall_utf8_classify(given->bytes, given->length));
    for (size_t from = 0;;) {
        guildhall_json_range piece = guildhall_json_split(given->bytes, given->length, from, 1);
        if (piece.begin == piece.end) break;
        note(from = piece.end);
    }
}

int main(int count, char **arguments)
{
    guildhall_json_rules lax = guildhall_json_strict;
    lax.allow_nan = lax.allow_duplicate_key = lax.allow_invalid_utf8 = lax.allow_trailing_comma = lax.allow_control_characters = 1;
    state = strtoull(arguments[1], NULL, 10) * 2 + 1;
    for (int i = 3; i < count; i++) load(arguments[i]);
    long rounds = atol(arguments[2]);
    for (long round = 0; round < rounds; round++) {
        text made = mutate(&corpus[below(corpus_size)]);
        check(&made, round % 2 ? guildhall_json_strict : lax);
        free(made.bytes);
        uint64_t bits = next_random();
        double number;
        char written[GUILDHALL_JSON_DOUBLE_BYTES];
        memcpy(&number, &bits, sizeof number);
        if ((bits >> 52 & 0x7ff) != 0x7ff) note_bytes(written, guildhall_json_write_double(number, written));
    }
    guildhall_json_scratch_free(guildhall_json_scratch_current());
    for (size_t i = 0; i < corpus_size; i++) free(corpus[i].bytes);
    free(corpus);
    printf("%ld texts %016llx\n", rounds, (unsigned long long)digest);
    return 0;
}

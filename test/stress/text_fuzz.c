/* What looks at text without Ruby: UTF-8, ASCII, the formats of schemas, hashes of keys. Arguments: seed, rounds, a file of texts, one
 * a line. Each text lies in memory of exactly its size, so that a byte read too far is seen. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "schema/format.h"
#include "text/ascii.h"
#include "text/utf8.h"
#include "text/hash.h"

static uint64_t state;

static uint64_t next_random(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

/* Of everything that was found: the same on every machine and every path. */
static uint64_t digest = 14695981039346656037ull;

static void note(uint64_t found)
{
    digest = (digest ^ found) * 1099511628211ull;
    digest ^= digest >> 29;
}

static const char *formats[] = {"date", "time", "date-time", "ipv4", "ipv6", "hostname", "email", "uri", "uri-reference", "iri",
                                "iri-reference", "uri-template", "uuid"};

static void check(const uint8_t *bytes, size_t length)
{
    guildhall_utf8_class class = guildhall_utf8_classify(bytes, length);
    note(class);
    note((uint64_t)(guildhall_utf8_error(bytes, bytes + length) - bytes));
    note((uint64_t)guildhall_ascii(bytes, length));
    note(guildhall_key_hash(bytes, length, 0x9E3779B97F4A7C15ull));
    for (size_t i = 0; class != GUILDHALL_UTF8_INVALID && i < sizeof formats / sizeof *formats; i++) {
        int number = guildhall_format_number(formats[i]);
        if (number >= 0) note((uint64_t)number << 1 | guildhall_format_check(number, (guildhall_text){bytes, length}));
    }
}

int main(int count, char **arguments)
{
    char **lines = NULL, *line = NULL;
    size_t size = 0, room = 0;
    long length, rounds = atol(arguments[2]);
    FILE *file = fopen(arguments[3], "rb");
    state = strtoull(arguments[1], NULL, 10) * 2 + 1;
    while (file && count == 4 && (length = getline(&line, &room, file)) > 0) {
        line[strcspn(line, "\n")] = 0;
        lines = realloc(lines, (size + 1) * sizeof *lines);
        lines[size++] = strdup(line);
    }
    if (!size) return 1;
    for (long round = 0; round < rounds; round++) {
        const char *text = lines[next_random() % size];
        size_t whole = strlen(text), from = next_random() % (whole + 1), some = next_random() % 3 ? whole - from : next_random() % (whole - from + 1);
        uint8_t *exact = malloc(some ? some : 1);
        memcpy(exact, text + from, some);
        for (uint64_t edits = next_random() % 3; edits-- && some;) exact[next_random() % some] ^= (uint8_t)(1 << next_random() % 8);
        check(exact, some);
        free(exact);
    }
    for (size_t i = 0; i < size; i++) free(lines[i]);
    free(lines);
    free(line);
    fclose(file);
    printf("%ld texts %016llx\n", rounds, (unsigned long long)digest);
    return 0;
}

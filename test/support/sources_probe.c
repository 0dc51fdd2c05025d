/* The sources of a pool's queue, without Ruby: usage: sources_probe. Ends with status 1 where something is wrong. */
#include <stdio.h>
#include <stdlib.h>

static long blocks;

static void *counted_calloc(size_t count, size_t size)
{
    blocks++;
    return calloc(count, size);
}

static void counted_free(void *pointer)
{
    blocks--;
    free(pointer);
}

#define calloc counted_calloc
#define free counted_free
#include "pool/sources.c"
#undef calloc
#undef free

#define MANY 100000

static guildhall_sources sources;

static guildhall_source *find(uint64_t key) { return *guildhall_sources_place_of(&sources, key); }
static uint64_t state = 88172645463325252ull;

static uint64_t next_random(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

static void expect(int right, const char *what)
{
    if (right) return;
    printf("wrong: %s\n", what);
    exit(1);
}

/* Keys that are mixed to these bits: the longest paths that there can be. */
static uint64_t unmix(uint64_t bits)
{
    const uint64_t factors[] = {0xc4ceb9fe1a85ec53ull, 0xff51afd7ed558ccdull};
    bits ^= bits >> 33;
    for (int i = 0; i < 2; i++) {
        uint64_t inverse = factors[i];
        for (int turn = 0; turn < 6; turn++) inverse *= 2 - factors[i] * inverse;
        bits *= inverse;
        bits ^= bits >> 33;
    }
    return bits;
}

static uint64_t spread(uint64_t number) { return number * 2 + 1; }
static uint64_t alike(uint64_t number) { return unmix(number << 47); }
static uint64_t chain(uint64_t number) { return unmix(number < 64 ? 1ull << number : number << 20 | 7); }

/* Dispatching to `count` sources, then to each once more; then they leave in the order of their turns. */
static void fill_and_empty(uint64_t (*key)(uint64_t), size_t count, double mean)
{
    uint64_t most = 0;
    sources.compared = 0;
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < count; i++) {
            uint64_t before = sources.compared;
            guildhall_source **place = guildhall_sources_place_of(&sources, key(i)), *found = *place;
            if (sources.compared - before > most) most = sources.compared - before;
            expect(round ? found && found->key == key(i) : !found, "find");
            if (!found) guildhall_sources_join(&sources, key(i), place);
        }
    }
    expect(most <= 33, "a path is too long");
    expect((double)sources.compared <= mean * 2 * (double)count, "too many were compared");
    for (size_t i = 0; i < count; i++) {
        expect(sources.last->next->key == key(i), "turns");
        guildhall_sources_leave(&sources);
        expect(!find(key(i)), "one that has left is found");
        if (i + 1 < count) expect(find(key(i + 1 + next_random() % (count - i - 1)))  != NULL, "one that is there is not found");
    }
    expect(!sources.last && !sources.root && blocks == 0, "left behind");
}

static void unshared_are_not_looked_at(void)
{
    for (size_t i = 0; i < MANY; i++) guildhall_sources_join(&sources, i, NULL);
    sources.compared = 0;
    expect(!find(5) && sources.compared == 0, "a source of one batch is looked at");
    guildhall_sources_free(&sources);
    expect(blocks == 0 && !sources.last, "free");
}

/* Joining and leaving at random, beside a table that knows what is right. */
static void at_random(void)
{
    enum { KEYS = 4096 };
    static bool there[KEYS];
    for (int turn = 0; turn < 2000000; turn++) {
        size_t number = next_random() % KEYS;
        guildhall_source **place = guildhall_sources_place_of(&sources, unmix(number << 52 | number % 7)), *found = *place;
        expect((found != NULL) == there[number], "at random");
        if (next_random() % 2 && !found) {
            guildhall_sources_join(&sources, unmix(number << 52 | number % 7), place)->payloads = number;
            there[number] = true;
        } else if (sources.last) {
            sources.last = next_random() % 8 ? sources.last->next : sources.last; /* whose turn it is */
            there[sources.last->next->payloads] = false;
            guildhall_sources_leave(&sources);
        }
    }
    guildhall_sources_free(&sources);
    expect(blocks == 0, "at random: left behind");
}

int main(void)
{
    fill_and_empty(spread, MANY, 12);
    fill_and_empty(alike, MANY, 33);
    fill_and_empty(chain, 1000, 33);
    unshared_are_not_looked_at();
    at_random();
    printf("right\n");
    return 0;
}

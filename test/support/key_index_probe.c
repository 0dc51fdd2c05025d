/* Many indexes of numbered keys, each with a seed of its own: how many keys are compared to find one. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include "document/key_index.h"

enum { KEYS = 300, LONGEST = 48, INDEXES = 4000 };

/* It is two on average, and at most five in hundreds of thousands of random tables of this size. */
#define MOST 8.0

typedef struct {
    bool numbers;
    char texts[KEYS][LONGEST];
} payload;

static uint64_t compared;

static guildhall_key key_of(const payload *keys, uint32_t place)
{
    if (keys->numbers) return (guildhall_key){NULL, 0, place - 1};
    return (guildhall_key){(const uint8_t *)keys->texts[place - 1], strlen(keys->texts[place - 1]), 0};
}

static guildhall_key key_at(const void *keys, uint32_t place)
{
    compared++;
    return key_of(keys, place);
}

static double worst(const char *format)
{
    static payload keys;
    static guildhall_key_index *indexes[INDEXES];
    double most = 0;
    keys.numbers = !format;
    for (int i = 0; format && i < KEYS; i++) snprintf(keys.texts[i], LONGEST, format, i);
    for (int i = 0; i < INDEXES; i++) {
        guildhall_key_index *index = indexes[i] = guildhall_key_index_new((uint32_t)i, KEYS);
        if (!index) abort();
        for (uint32_t place = 1; place <= KEYS; place++) guildhall_key_index_put(index, key_of(&keys, place), place, key_at, &keys);
        compared = 0;
        for (uint32_t place = 1; place <= KEYS; place++) {
            if (guildhall_key_index_get(index, key_of(&keys, place), key_at, &keys) != place) abort();
        }
        if ((double)compared / KEYS > most) most = (double)compared / KEYS;
    }
    for (int i = 0; i < INDEXES; i++) free(indexes[i]);
    return most;
}

int main(void)
{
    static const char *formats[] = {NULL, "k%d", "customer-%d", "a-very-long-name-of-a-key-%d", "%d-at-the-end", "00000000-0000-0000-0000-%012d"};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        double most = worst(formats[i]);
        if (most > MOST) printf("%s: %.1f keys compared for one\n", formats[i] ? formats[i] : "numbers", most);
    }
    printf("done\n");
    return 0;
}

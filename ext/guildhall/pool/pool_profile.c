/* Learning what pays. For each pair of payload size and batch size it is kept what a payload costs inline, and with 2, 4,
 * 8 … hands, all hand-overs included. The least wins; its neighbours are tried again now and then. */
#include "pool_profile.h"

enum {
    FIRST_SAMPLES = 4,       /* of each way, before they are believed: the very first runs also load and warm up */
    PROBE_AFTER = 128,       /* decisions, where the other way is as good: it is then tried */
    PROBE_EARLY = 16,        /* as long as little is known of it */
    PROBE_RUN = 4,           /* times in a row, because what has just woken up is slow */
    FARTHEST_RATIO = 64      /* the worse it is, the later: by the square, so that all probing costs a percent at most */
};
/* Before anything is measured: decoding takes about 4 ns a byte, and something even for nothing. */
static const double guess_ns = 500, guess_ns_a_byte = 4;
static const double brief_ns = 5e6;
/* Waiting for workers has to pay: a small gain is not worth a core that others could use. */
static const double worthwhile = 0.9, worthwhile_in_a_crowd = 2;
/* What the first try of a second worker is expected to add. */
static const double expected_gain = 0.6;

static unsigned power_of_two(size_t number, unsigned limit)
{
    unsigned bits = number ? 64 - (unsigned)__builtin_clzll(number) : 0;
    return bits < limit ? bits : limit - 1;
}

unsigned guildhall_byte_class(size_t bytes) { return power_of_two(bytes, GUILDHALL_BYTE_CLASSES); }
unsigned guildhall_count_class(size_t count) { return power_of_two(count, GUILDHALL_COUNT_CLASSES); }

double guildhall_estimate_read(const guildhall_estimate *estimate)
{
    return atomic_load_explicit(&estimate->nanoseconds, memory_order_relaxed);
}

static uint32_t samples(const guildhall_estimate *estimate)
{
    return atomic_load_explicit(&estimate->samples, memory_order_relaxed);
}

void guildhall_estimate_add(guildhall_estimate *estimate, double nanoseconds)
{
    uint32_t seen = samples(estimate);
    double mean = guildhall_estimate_read(estimate);
    /* One sample while the machine was busy elsewhere must not turn a decision; the first ones may be far off. */
    if (seen > 3 && nanoseconds > 4 * mean) nanoseconds = 4 * mean;
    /* What disturbs a measurement makes it longer, hardly ever shorter. */
    double weight = seen < 4 ? 1.0 / (seen + 1) : nanoseconds < mean ? 0.25 : 0.125;
    if (seen < FIRST_SAMPLES && nanoseconds < mean) weight = 1;
    atomic_store_explicit(&estimate->nanoseconds, (float)(mean + (nanoseconds - mean) * weight), memory_order_relaxed);
    if (seen < UINT32_MAX) atomic_store_explicit(&estimate->samples, seen + 1, memory_order_relaxed);
}

double guildhall_profile_cost(const guildhall_profile *profile, size_t bytes)
{
    const guildhall_estimate *known = &profile->cost[guildhall_byte_class(bytes)];
    return samples(known) ? guildhall_estimate_read(known) : guess_ns + guess_ns_a_byte * (double)bytes;
}

bool guildhall_profile_brief(const guildhall_profile *profile, size_t count, size_t bytes)
{
    const guildhall_estimate *known = &profile->cost[guildhall_byte_class(bytes)];
    return samples(known) && guildhall_estimate_read(known) * (double)count < brief_ns;
}

unsigned guildhall_level_of(size_t hands)
{
    unsigned level = 1;
    while (level < GUILDHALL_LEVELS - 1 && ((size_t)1 << level) < hands) level++;
    return level;
}

size_t guildhall_hands_of(unsigned level, size_t hands)
{
    size_t of = (size_t)1 << level;
    return level == GUILDHALL_LEVELS - 1 || of > hands ? hands : of;
}

typedef struct {
    const guildhall_profile *profile;
    const guildhall_cell *cell;
    const guildhall_crew *crew;
    size_t count, bytes;
} choice;

/* Nanoseconds a payload: measured, or what is to be expected. */
static double cost_at(const choice *of, unsigned level)
{
    const guildhall_estimate *known = &of->cell->levels[level];
    if (samples(known) >= FIRST_SAMPLES) return guildhall_estimate_read(known);
    double alone = guildhall_profile_cost(of->profile, of->bytes);
    if (level == 0) return alone;
    size_t hands = guildhall_hands_of(level, of->crew->hands);
    if (hands > of->count) hands = of->count;
    double speed = hands > 1 ? 1 + (double)(hands - 1) * expected_gain : 1;
    double late = of->crew->caller ? (double)(hands - 1) / (double)hands : 1; /* the share of hands that come late */
    return alone / speed + late * (double)of->crew->handover_ns / (double)of->count;
}

static unsigned best_parallel(const choice *of, unsigned most)
{
    unsigned best = 1;
    for (unsigned level = 2; level <= most; level++) {
        if (cost_at(of, level) < cost_at(of, best) * worthwhile) best = level;
    }
    return best;
}

/* A level beside the best one, to be compared with it. */
static unsigned rival_of(unsigned best, unsigned most, uint32_t seen)
{
    if (best == 0) return 1;
    return best < most && seen % 2 ? best + 1 : best - 1;
}

/* Whether it is time to try the rival, so many times as dear as the best. */
static bool probe(guildhall_cell *cell, uint32_t decision, double ratio, uint32_t seen)
{
    if (decision < FIRST_SAMPLES) return false;
    if (ratio < 2 && seen < FIRST_SAMPLES) return true;
    uint32_t next = atomic_load_explicit(&cell->next_probe, memory_order_relaxed);
    if (next && decision < next + PROBE_RUN) return decision >= next;
    double far = ratio < 1 ? 1 : ratio > FARTHEST_RATIO ? FARTHEST_RATIO : ratio;
    atomic_store_explicit(&cell->next_probe, decision + (uint32_t)((seen < PROBE_EARLY ? PROBE_EARLY : PROBE_AFTER) * far * far), memory_order_relaxed);
    return false;
}

unsigned guildhall_profile_level(guildhall_profile *profile, size_t count, size_t bytes, const guildhall_crew *crew)
{
    if (count == 0 || crew->hands == 0) return 0;
    guildhall_cell *cell = &profile->cells[guildhall_byte_class(bytes)][guildhall_count_class(count)];
    const choice of = {profile, cell, crew, count, bytes};
    uint32_t decision = atomic_fetch_add_explicit(&cell->decisions, 1, memory_order_relaxed);
    unsigned most = guildhall_level_of(crew->hands), parallel = best_parallel(&of, most);
    if (crew->crowded) return cost_at(&of, parallel) < cost_at(&of, 0) * worthwhile_in_a_crowd ? parallel : 0;
    unsigned best = cost_at(&of, parallel) < cost_at(&of, 0) * worthwhile ? parallel : 0;
    unsigned rival = rival_of(best, most, samples(&cell->levels[best]));
    double ratio = cost_at(&of, rival) / cost_at(&of, best);
    return probe(cell, decision, ratio, samples(&cell->levels[rival])) ? rival : best;
}

void guildhall_profile_learn(guildhall_profile *profile, size_t count, size_t bytes, unsigned level, int64_t nanoseconds)
{
    if (count == 0) return;
    guildhall_cell *cell = &profile->cells[guildhall_byte_class(bytes)][guildhall_count_class(count)];
    guildhall_estimate *of = level == GUILDHALL_FORCED ? &cell->forced : &cell->levels[level];
    guildhall_estimate_add(of, (double)nanoseconds / (double)count);
}

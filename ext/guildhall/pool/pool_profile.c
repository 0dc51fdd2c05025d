/* Learning what pays. For each pair of payload size and batch size it is kept what a payload costs inline, and with 2, 4,
 * 8 … hands, all hand-overs included. The least wins. Its neighbours are tried now and then, for some batches in a row: as
 * soon as the best one costs more than it did, and else the more rarely the longer it has been the best. */
#include "pool_profile.h"
#include <stdlib.h>

enum {
    FIRST_SAMPLES = 4,       /* before they are believed: the very first runs also load and warm up */
    EARLY_SAMPLES = 3 * FIRST_SAMPLES, /* what little was seen of the other one may have been its first steps: soon again, */
    MUCH_DEARER = 3,                   /* unless it was that much dearer */
    WAKING_UP = 2,           /* batches after a change: what has just woken up is slow */
    TRIAL = WAKING_UP + GUILDHALL_TRIAL_SAMPLES,
    FEWEST_SAMPLES = 3,      /* that a trial is judged by; batches that met others are not measured */
    FIRST_INTERVAL = 32,     /* decisions between two trials where both ways are as good */
    LONGEST_INTERVAL = 1024,
    FARTHEST_RATIO = 64      /* the worse the other one is, the later: by the square, so that trying costs a percent at most */
};
/* Before anything is measured: decoding takes about 4 ns a byte, and something even for nothing. */
static const double guess_ns = 500, guess_ns_a_byte = 4;
static const double brief_ns = 5e6;
/* Waiting for workers has to pay: a small gain is not worth a core that others could use. Nor is one that is soon lost,
 * to a worker that has gone to sleep or a garbage collection that stops all of them: this share of a hand-over a batch. */
static const double worthwhile = 0.9, worthwhile_in_a_crowd = 2, risk = 0.5;
/* What the first try of a second worker is expected to add. */
static const double expected_gain = 0.6;
/* The best one has become dearer: something has changed. */
static const double drift = 1.3, near = 1.5; /* and the other one was not much dearer than it is now */

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

static float limited(double number, double limit)
{
    return (float)(number > limit ? limit : number < -limit ? -limit : number);
}

static void set(guildhall_estimate *estimate, double nanoseconds, uint32_t seen)
{
    atomic_store_explicit(&estimate->nanoseconds, (float)nanoseconds, memory_order_relaxed);
    atomic_store_explicit(&estimate->samples, seen < UINT32_MAX ? seen : UINT32_MAX, memory_order_relaxed);
}

void guildhall_estimate_add(guildhall_estimate *estimate, double nanoseconds)
{
    uint32_t seen = samples(estimate);
    double known = guildhall_estimate_read(estimate), step = limited(nanoseconds - known, known / 4) / 4;
    if (seen < FIRST_SAMPLES) step = seen == 0 || step < 0 ? nanoseconds - known : limited(nanoseconds - known, known) / (double)(seen + 1);
    set(estimate, known + step, seen + 1);
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

/* Decisions are counted in 32 bits, and go on from 0. */
static bool reached(uint32_t decision, uint32_t mark)
{
    return (int32_t)(decision - mark) >= 0;
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

static unsigned best_level(const choice *of)
{
    unsigned parallel = best_parallel(of, guildhall_level_of(of->crew->hands));
    double enough = of->crew->crowded ? worthwhile_in_a_crowd : worthwhile;
    double may_lose = of->crew->caller ? risk * (double)of->crew->handover_ns / (double)of->count : 0;
    return cost_at(of, parallel) + may_lose < cost_at(of, 0) * enough ? parallel : 0;
}

guildhall_choice guildhall_profile_choose(const guildhall_profile *profile, size_t count, size_t bytes, const guildhall_crew *crew)
{
    if (count == 0 || crew->hands == 0) return (guildhall_choice){0, false};
    const guildhall_cell *cell = &profile->cells[guildhall_byte_class(bytes)][guildhall_count_class(count)];
    const choice of = {profile, cell, crew, count, bytes};
    uint32_t decision = atomic_load_explicit(&cell->decisions, memory_order_relaxed);
    uint32_t begins = atomic_load_explicit(&cell->trial.begins, memory_order_relaxed);
    bool after = begins && reached(decision, begins) && !crew->crowded, trying = after && decision - begins < TRIAL;
    uint32_t since = after ? decision - begins - (trying ? 0 : TRIAL) : WAKING_UP;
    unsigned level = trying ? atomic_load_explicit(&cell->trial.level, memory_order_relaxed) : best_level(&of);
    return (guildhall_choice){level, since >= WAKING_UP};
}

/* ---- trials */

static int by_size(const void *one, const void *two)
{
    float difference = *(const float *)one - *(const float *)two;
    return (difference > 0) - (difference < 0);
}

/* What has been tried costs the median of the trial's samples, whatever was known of it before. */
static void judge(guildhall_cell *cell)
{
    float values[GUILDHALL_TRIAL_SAMPLES];
    uint32_t taken = atomic_load_explicit(&cell->trial.taken, memory_order_relaxed);
    if (taken > GUILDHALL_TRIAL_SAMPLES) taken = GUILDHALL_TRIAL_SAMPLES;
    if (taken < FEWEST_SAMPLES) return;
    for (uint32_t i = 0; i < taken; i++) values[i] = atomic_load_explicit(&cell->trial.samples[i], memory_order_relaxed);
    qsort(values, taken, sizeof(float), by_size);
    guildhall_estimate *tried = &cell->levels[atomic_load_explicit(&cell->trial.level, memory_order_relaxed)];
    set(tried, values[taken / 2], samples(tried) + FIRST_SAMPLES);
}

/* A level beside the best one, to be compared with it. */
static unsigned rival_of(unsigned best, unsigned most, uint32_t turn)
{
    if (best == 0) return 1;
    return best < most && turn % 2 ? best + 1 : best - 1;
}

static void plan(const choice *of, guildhall_trial *trial, uint32_t decision)
{
    unsigned best = best_level(of), rival = rival_of(best, guildhall_level_of(of->crew->hands), decision);
    uint32_t interval = atomic_load_explicit(&trial->interval, memory_order_relaxed) * 2;
    bool stands = decision > 0 && best == atomic_load_explicit(&trial->best, memory_order_relaxed);
    if (!stands || interval < FIRST_INTERVAL) interval = FIRST_INTERVAL;
    if (interval > LONGEST_INTERVAL) interval = LONGEST_INTERVAL;
    double far = cost_at(of, rival) / cost_at(of, best);
    if (!(far > 1)) far = 1;
    if (far > FARTHEST_RATIO) far = FARTHEST_RATIO;
    /* A decision that was just turned is looked at again at once, against what the other one costs now. */
    bool promising = (!stands || samples(&of->cell->levels[rival]) < EARLY_SAMPLES) && far < MUCH_DEARER;
    uint32_t wait = promising ? FIRST_SAMPLES : (uint32_t)(interval * far * far);
    atomic_store_explicit(&trial->interval, promising ? 0 : interval, memory_order_relaxed);
    atomic_store_explicit(&trial->level, rival, memory_order_relaxed);
    atomic_store_explicit(&trial->best, best, memory_order_relaxed);
    atomic_store_explicit(&trial->expected, (float)cost_at(of, best), memory_order_relaxed);
    atomic_store_explicit(&trial->taken, 0, memory_order_relaxed);
    atomic_store_explicit(&trial->planned, decision, memory_order_relaxed);
    atomic_store_explicit(&trial->begins, decision + wait, memory_order_relaxed);
}

/* What the best one costs has crept up on what the other one once cost: that is to be measured anew. */
static bool turned_by_itself(const choice *of, uint32_t decision)
{
    const guildhall_trial *trial = &of->cell->trial;
    if (reached(decision, atomic_load_explicit(&trial->begins, memory_order_relaxed))) return false;
    return best_level(of) != atomic_load_explicit(&trial->best, memory_order_relaxed);
}

void guildhall_profile_chosen(guildhall_profile *profile, size_t count, size_t bytes, const guildhall_crew *crew)
{
    if (count == 0 || crew->hands == 0 || crew->crowded) return;
    guildhall_cell *cell = &profile->cells[guildhall_byte_class(bytes)][guildhall_count_class(count)];
    const choice of = {profile, cell, crew, count, bytes};
    uint32_t decision = atomic_fetch_add_explicit(&cell->decisions, 1, memory_order_relaxed);
    uint32_t begins = atomic_load_explicit(&cell->trial.begins, memory_order_relaxed);
    bool tried = begins && reached(decision, begins + TRIAL + WAKING_UP);
    if (begins && !tried && !turned_by_itself(&of, decision)) return;
    if (tried) judge(cell);
    plan(&of, &cell->trial, decision);
}

/* One more sample of the trial, if it is one. */
static bool tried(guildhall_cell *cell, unsigned level, double nanoseconds)
{
    guildhall_trial *trial = &cell->trial;
    uint32_t begins = atomic_load_explicit(&trial->begins, memory_order_relaxed);
    if (!begins || !reached(atomic_load_explicit(&cell->decisions, memory_order_relaxed), begins + 1)) return false;
    if (level != atomic_load_explicit(&trial->level, memory_order_relaxed)) return false;
    uint32_t number = atomic_fetch_add_explicit(&trial->taken, 1, memory_order_relaxed);
    if (number < GUILDHALL_TRIAL_SAMPLES) atomic_store_explicit(&trial->samples[number], (float)nanoseconds, memory_order_relaxed);
    return true;
}

static void watch_for_drift(guildhall_cell *cell, unsigned level)
{
    guildhall_trial *trial = &cell->trial;
    uint32_t decision = atomic_load_explicit(&cell->decisions, memory_order_relaxed);
    double cost = guildhall_estimate_read(&cell->levels[level]);
    if (level != atomic_load_explicit(&trial->best, memory_order_relaxed)) return;
    if (reached(decision, atomic_load_explicit(&trial->begins, memory_order_relaxed))) return;
    if (decision - atomic_load_explicit(&trial->planned, memory_order_relaxed) < FIRST_INTERVAL) return;
    if (cost < drift * atomic_load_explicit(&trial->expected, memory_order_relaxed)) return;
    if (cost * near < guildhall_estimate_read(&cell->levels[atomic_load_explicit(&trial->level, memory_order_relaxed)])) return;
    atomic_store_explicit(&trial->expected, (float)cost, memory_order_relaxed);
    atomic_store_explicit(&trial->begins, decision + 1, memory_order_relaxed);
}

void guildhall_profile_learn(guildhall_profile *profile, size_t count, size_t bytes, unsigned level, int64_t nanoseconds)
{
    if (count == 0) return;
    guildhall_cell *cell = &profile->cells[guildhall_byte_class(bytes)][guildhall_count_class(count)];
    double each = (double)nanoseconds / (double)count;
    if (level == GUILDHALL_FORCED) guildhall_estimate_add(&cell->forced, each);
    else if (!tried(cell, level, each)) {
        guildhall_estimate_add(&cell->levels[level], each);
        watch_for_drift(cell, level);
    }
}

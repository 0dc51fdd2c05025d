/* A sequential test: pairs of epochs are added up until what they say is clear. The closer the two ways are, the more of them
 * it takes, and the less they cost. */
#include "comparison.h"
#include <math.h>

static const double clear = 0.6;           /* evidence that decides: one pair with the ratio e to the 0.6, or n with e to the 0.6 / n */
static const double trial_share = 0.005;   /* of the time may be lost by trials, as long as costs stay about what they are */
static const double changed = 1.5;         /* if the way in use gets dearer or cheaper by this, the other one is tried again */
static const double newest = 0.25;         /* what the newest epoch counts in a way's cost */

static void pool_comparison_note_cost(guildhall_comparison *of, double cost)
{
    double *known = &of->cost[of->current];
    *known = *known > 0 ? *known + (cost - *known) * newest : cost;
}

static bool pool_comparison_trial_due(const guildhall_comparison *of, const guildhall_comparison_terms *terms)
{
    if (of->elapsed >= of->next_trial) return true;
    if (of->chosen_cost <= 0 || of->elapsed - of->trial_began < terms->shortest_pause) return false;
    double ratio = of->cost[of->best] / of->chosen_cost;
    return ratio > changed || ratio < 1 / changed;
}

static void pool_comparison_begin_trial(guildhall_comparison *of)
{
    of->trying = true;
    of->trial_began = of->elapsed;
    of->first = of->evidence = 0;
    of->pairs = 0;
}

/* The slower way is tried the later, the slower it was. */
static void pool_comparison_choose(guildhall_comparison *of, const guildhall_comparison_terms *terms)
{
    double slower = fmax(of->cost[0], of->cost[1]), faster = fmin(of->cost[0], of->cost[1]);
    double lost = (of->elapsed - of->trial_began) * (1 - faster / slower);
    of->best = of->evidence > 0;
    double pause = fmin(fmax(lost / trial_share, terms->shortest_pause), terms->longest_pause);
    guildhall_comparison_break(of, fmin(pause, terms->most_pause * of->elapsed));
}

/* Every other pair begins with the way that the one before has ended with: each change costs some time. */
static void pool_comparison_add_to_pair(guildhall_comparison *of, const guildhall_comparison_terms *terms, double cost)
{
    if (of->first <= 0) {
        of->first = cost;
        of->current = !of->current;
        return;
    }
    double gain = of->current ? of->first / cost : cost / of->first, most = terms->most_per_pair;
    of->evidence += fmax(-most, fmin(most, log(gain / terms->least_gain)));
    of->first = 0;
    if (++of->pairs >= terms->most_pairs || fabs(of->evidence) >= clear) pool_comparison_choose(of, terms);
}

void guildhall_comparison_add(guildhall_comparison *of, const guildhall_comparison_terms *terms, double cost, double time)
{
    of->elapsed += time;
    pool_comparison_note_cost(of, cost);
    if (!of->trying && pool_comparison_trial_due(of, terms)) pool_comparison_begin_trial(of);
    if (of->trying) pool_comparison_add_to_pair(of, terms, cost);
}

void guildhall_comparison_break(guildhall_comparison *of, double pause)
{
    of->trying = false;
    of->current = of->best;
    of->chosen_cost = of->cost[of->best];
    of->next_trial = of->elapsed + pause;
}

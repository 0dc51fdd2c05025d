/* The pool's comparison of two ways, without a pool. Each line of the input is "add COST TIME" or "break PAUSE", in seconds; each is answered
 * by "WAY TRYING": 1 for the second way, and in a trial. */
#include <stdio.h>
#include "pool/cost_model.h"

static const double second_ns = 1e9;

int main(void)
{
    double cost, time;
    char line[256];
    guildhall_comparison ways = {0};
    while (fgets(line, sizeof line, stdin)) {
        if (sscanf(line, "add %lf %lf", &cost, &time) == 2) guildhall_comparison_add(&ways, cost, time * second_ns);
        else if (sscanf(line, "break %lf", &time) == 1) guildhall_comparison_break(&ways, time * second_ns);
        else return 2;
        printf("%d %d\n", ways.current, ways.trying);
        fflush(stdout);
    }
    return 0;
}

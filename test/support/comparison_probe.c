/* The pool's comparison of two ways, without a pool. Usage: comparison_probe GAIN EVIDENCE PAIRS SHORTEST LONGEST MOST (the terms).
 * Each line of the input is "add COST TIME" or "break PAUSE"; each is answered by "WAY TRYING": 1 for the second way, and in a trial. */
#include <stdio.h>
#include <stdlib.h>
#include "pool/comparison.h"

int main(int count, char **arguments)
{
    double numbers[6], first, second;
    char line[256];
    if (count != 7) return 2;
    for (int i = 0; i < 6; i++) numbers[i] = atof(arguments[i + 1]);
    guildhall_comparison_terms terms = {numbers[0], numbers[1], (unsigned)numbers[2], numbers[3], numbers[4], numbers[5]};
    guildhall_comparison ways = {0};
    while (fgets(line, sizeof line, stdin)) {
        if (sscanf(line, "add %lf %lf", &first, &second) == 2) guildhall_comparison_add(&ways, &terms, first, second);
        else if (sscanf(line, "break %lf", &first) == 1) guildhall_comparison_break(&ways, first);
        else return 2;
        printf("%d %d\n", ways.current, ways.trying);
        fflush(stdout);
    }
    return 0;
}

#include_next <stdint.h>
#define int64_t long long
#define uint64_t unsigned long long
#undef INT64_C
#define INT64_C(number) number##LL
#undef UINT64_C
#define UINT64_C(number) number##ULL

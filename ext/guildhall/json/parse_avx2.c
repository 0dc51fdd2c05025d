/* The parser for processors with AVX2. */
#include "text/simd.h"

#ifdef GUILDHALL_AVX2_FILES
#include <stdlib.h>
#include <string.h>
#pragma GCC target("avx2,bmi,bmi2")
#define GUILDHALL_JSON_PARSER guildhall_json_parse_avx2
#include "parser.inc.c"
#endif

/* The parser without vectors. */
#define GUILDHALL_PORTABLE 1
#define GUILDHALL_JSON_PARSER guildhall_json_parse_portable
#include "parser.inc.c"

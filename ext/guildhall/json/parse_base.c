/* The parser for every processor of the architecture that it is compiled for. */
#define GUILDHALL_JSON_PARSER guildhall_json_parse_base
#include "parser.inc.c"

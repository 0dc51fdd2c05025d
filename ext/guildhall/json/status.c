/* What each status means, in words. */
#include "parse.h"

const char *guildhall_json_status_text(guildhall_json_status status)
{
    switch (status) {
    case GUILDHALL_JSON_VALID: return "valid";
    case GUILDHALL_JSON_EMPTY: return "the input is empty";
    case GUILDHALL_JSON_UNEXPECTED_END: return "unexpected end of input";
    case GUILDHALL_JSON_UNEXPECTED: return "unexpected character";
    case GUILDHALL_JSON_AFTER_END: return "unexpected character after the document";
    case GUILDHALL_JSON_EXPECTED_KEY: return "expected an object key in double quotes";
    case GUILDHALL_JSON_EXPECTED_COLON: return "expected ':' after the object key";
    case GUILDHALL_JSON_EXPECTED_COMMA_OR_BRACKET: return "expected ',' or ']' after an array element";
    case GUILDHALL_JSON_EXPECTED_COMMA_OR_BRACE: return "expected ',' or '}' after an object value";
    case GUILDHALL_JSON_BAD_NUMBER: return "invalid number";
    case GUILDHALL_JSON_TOO_MANY_DIGITS: return "a number that has, written out, more digits than max_digits";
    case GUILDHALL_JSON_NAN: return "NaN and Infinity are not JSON (allow_nan: true accepts them)";
    case GUILDHALL_JSON_OPEN_STRING: return "unexpected end of input inside a string";
    case GUILDHALL_JSON_CONTROL_CHARACTER: return "control character inside a string";
    case GUILDHALL_JSON_BAD_ESCAPE: return "invalid escape sequence";
    case GUILDHALL_JSON_BAD_UNICODE_ESCAPE: return "invalid \\u escape";
    case GUILDHALL_JSON_LONE_SURROGATE: return "\\u escape of half a surrogate pair";
    case GUILDHALL_JSON_INVALID_UTF8: return "invalid UTF-8 (allow_invalid_utf8: true accepts it)";
    case GUILDHALL_JSON_DUPLICATE_KEY: return "duplicate key (allow_duplicate_key: true accepts it)";
    case GUILDHALL_JSON_TOO_DEEP: return "nested deeper than max_nesting";
    case GUILDHALL_JSON_TOO_LONG: return "longer than max_bytes";
    case GUILDHALL_JSON_NO_MEMORY: return "out of memory";
    }
    return "unknown status";
}

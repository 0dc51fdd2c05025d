/* Makes a tape of a JSON text: one pass, no recursion. While a container is open, its node holds the index of the one
 * around it, so that depth costs no stack.
 *
 * Compiled with vectors (parse_base.c) and without (parse_portable.c), each of which names the function that comes out of it
 * GUILDHALL_JSON_PARSER. */
#include "digits.h"
#include "duplicates.h"
#include "key_predictor.h"
#include "parse.h"
#include "scan.h"
#include "text/utf8.h"

#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define NO_CONTAINER UINT32_MAX
#define INLINED static inline __attribute__((always_inline))

typedef struct {
    const uint8_t *bytes, *end;
    const guildhall_json_rules *rules;
    const uint8_t *checked; /* from the first string with a byte above 0x7f on, all is valid UTF-8 up to here */
    const uint8_t *error;
    guildhall_json_status status;
    /* Of the innermost open container; here and not in local variables, because registers are scarce. */
    guildhall_json_scratch *scratch;
    uint64_t print;        /* the fingerprint of its keys so far */
    uint32_t open, depth;  /* its index; how many are open */
    uint32_t cue;          /* of its next key: see key_predictor.h */
    int deduplicated;
} text;

static const uint8_t *json_parser_fail(text *source, const uint8_t *at, guildhall_json_status status)
{
    source->error = at;
    source->status = status;
    return NULL;
}

static int json_parser_is_hex(uint8_t byte) { return guildhall_json_is_digit(byte) || ((byte | 32) >= 'a' && (byte | 32) <= 'f'); }

/* The code unit of the four digits of a \u escape, -1 when they are not four hexadecimal digits. */
static int32_t json_parser_code_unit(const uint8_t *digits, const uint8_t *end)
{
    if (end - digits < 4) return -1;
    int32_t unit = 0;
    for (int i = 0; i < 4; i++) {
        if (!json_parser_is_hex(digits[i])) return -1;
        unit = unit << 4 | (digits[i] <= '9' ? digits[i] - '0' : (digits[i] | 32) - 'a' + 10);
    }
    return unit;
}

static const uint8_t *json_parser_unicode_escape(text *source, const uint8_t *at)
{
    int32_t unit = json_parser_code_unit(at + 2, source->end);
    if (unit < 0) return json_parser_fail(source, at, GUILDHALL_JSON_BAD_UNICODE_ESCAPE);
    if (unit < 0xD800 || unit > 0xDFFF) return at + 6;
    int32_t low = -1;
    if (unit < 0xDC00 && source->end - at >= 8 && at[6] == '\\' && at[7] == 'u') low = json_parser_code_unit(at + 8, source->end);
    return low >= 0xDC00 && low <= 0xDFFF ? at + 12 : json_parser_fail(source, at, GUILDHALL_JSON_LONE_SURROGATE);
}

/* Checks the escape sequence at the backslash; returns the position after it, NULL when it is not valid. */
static const uint8_t *json_parser_escape(text *source, const uint8_t *at)
{
    if (source->end - at < 2) return json_parser_fail(source, source->end, GUILDHALL_JSON_OPEN_STRING);
    switch (at[1]) {
    case '"': case '\\': case '/': case 'b': case 'f': case 'n': case 'r': case 't': return at + 2;
    case 'u': return json_parser_unicode_escape(source, at);
    default: return json_parser_fail(source, at, GUILDHALL_JSON_BAD_ESCAPE);
    }
}

/* All that is left of the text is checked at once, on the first string that needs it: a vector at a time, and never
 * twice. What is invalid outside strings is an unexpected character anyway. */
static const uint8_t *json_parser_check_utf8(text *source, const uint8_t *from, const uint8_t *quote)
{
    if (source->checked >= quote || source->rules->allow_invalid_utf8) return quote;
    source->checked = guildhall_utf8_error(from, source->end);
    return source->checked >= quote ? quote : json_parser_fail(source, source->checked, GUILDHALL_JSON_INVALID_UTF8);
}

/* The rest of a string with escapes (or control characters), from the first of them on. */
static const uint8_t *json_parser_finish_string(text *source, const uint8_t *begin, const uint8_t *at, unsigned high,
                                    guildhall_json_node *node)
{
    guildhall_json_type type = high ? GUILDHALL_JSON_UTF8 : GUILDHALL_JSON_ASCII;
    while (at < source->end && *at != '"') {
        if (*at == '\\') {
            type = GUILDHALL_JSON_ESCAPED;
            if (!(at = json_parser_escape(source, at))) return NULL;
        } else if (source->rules->allow_control_characters) {
            at++;
        } else {
            return json_parser_fail(source, at, GUILDHALL_JSON_CONTROL_CHARACTER);
        }
        at = guildhall_json_scan(at, source->end, &high);
        if (high && type == GUILDHALL_JSON_ASCII) type = GUILDHALL_JSON_UTF8;
    }
    if (at >= source->end) return json_parser_fail(source, source->end, GUILDHALL_JSON_OPEN_STRING);
    if (high && !json_parser_check_utf8(source, begin, at)) return NULL;
    *node = guildhall_json_make(type, (size_t)(at - begin), (size_t)(begin - source->bytes));
    return at + 1;
}

/* The string whose first byte after the quote is at `begin`; returns the position after the closing quote. */
INLINED const uint8_t *json_parser_string(text *source, const uint8_t *begin, guildhall_json_node *node)
{
    unsigned high = 0;
    const uint8_t *at = guildhall_json_scan(begin, source->end, &high);
    if (UNLIKELY(at >= source->end || *at != '"')) return json_parser_finish_string(source, begin, at, high, node);
    guildhall_json_type type = GUILDHALL_JSON_ASCII;
    if (UNLIKELY(high)) {
        if (!json_parser_check_utf8(source, begin, at)) return NULL;
        type = GUILDHALL_JSON_UTF8;
    }
    *node = guildhall_json_make(type, (size_t)(at - begin), (size_t)(begin - source->bytes));
    return at + 1;
}

static const uint8_t *json_parser_constant(text *source, const uint8_t *begin, const uint8_t *at, const char *word,
                               guildhall_json_node *node)
{
    size_t length = strlen(word);
    if ((size_t)(source->end - at) < length || memcmp(at, word, length)) return json_parser_fail(source, begin, GUILDHALL_JSON_UNEXPECTED);
    if (!source->rules->allow_nan) return json_parser_fail(source, begin, GUILDHALL_JSON_NAN);
    at += length;
    *node = guildhall_json_make(GUILDHALL_JSON_CONSTANT, (size_t)(at - begin), (size_t)(begin - source->bytes));
    return at;
}

static inline const uint8_t *json_parser_integer_part(const uint8_t *at, const uint8_t *end, uint64_t *value)
{
    while (end - at >= 8) {
        unsigned count = guildhall_json_add_digits(at, value);
        at += count;
        if (count < 8) return at;
    }
    while (at < end && guildhall_json_is_digit(*at)) *value = *value * 10 + (uint64_t)(*at++ - '0');
    return at;
}

/* What follows the integer part: fraction and exponent. */
static const uint8_t *json_parser_fraction(text *source, const uint8_t *begin, const uint8_t *at, guildhall_json_node *node)
{
    const uint8_t *end = source->end;
    if (*at == '.') {
        const uint8_t *after = guildhall_json_skip_digits(at + 1, end);
        if (after == at + 1) return json_parser_fail(source, begin, GUILDHALL_JSON_BAD_NUMBER);
        at = after;
    }
    if (at < end && (*at | 32) == 'e') {
        at++;
        if (at < end && (*at == '+' || *at == '-')) at++;
        const uint8_t *after = guildhall_json_skip_digits(at, end);
        if (after == at) return json_parser_fail(source, begin, GUILDHALL_JSON_BAD_NUMBER);
        at = after;
    }
    if (UNLIKELY(source->rules->max_decimal_digits != UINT32_MAX) &&
        guildhall_json_written_digits(begin, (size_t)(at - begin)) > source->rules->max_decimal_digits)
        return json_parser_fail(source, begin, GUILDHALL_JSON_TOO_MANY_DIGITS);
    *node = guildhall_json_make(GUILDHALL_JSON_FLOAT, (size_t)(at - begin), (size_t)(begin - source->bytes));
    return at;
}

#define INLINE_DIGITS 17 /* any integer with this number of digits fits the 60 bits of a node */

static __attribute__((noinline)) const uint8_t *json_parser_any_number(text *source, const uint8_t *begin, guildhall_json_node *node)
{
    const uint8_t *at = begin, *end = source->end;
    int negative = *at == '-';
    at += negative;
    const uint8_t *first = at;
    uint64_t value = 0;
    at = json_parser_integer_part(at, end, &value);
    size_t count = (size_t)(at - first);
    if (UNLIKELY(count == 0 || (*first == '0' && count > 1))) {
        if (negative && at < end && *at == 'I') return json_parser_constant(source, begin, at, "Infinity", node);
        return json_parser_fail(source, begin, GUILDHALL_JSON_BAD_NUMBER);
    }
    if (at < end && (*at == '.' || (*at | 32) == 'e')) return json_parser_fraction(source, begin, at, node);
    if (LIKELY(count <= INLINE_DIGITS)) {
        int64_t integer = negative ? -(int64_t)value : (int64_t)value;
        *node = (uint64_t)integer << 4 | GUILDHALL_JSON_INTEGER;
    } else {
        if (UNLIKELY(count > source->rules->max_digits)) return json_parser_fail(source, begin, GUILDHALL_JSON_TOO_MANY_DIGITS);
        *node = guildhall_json_make(GUILDHALL_JSON_BIG_INTEGER, (size_t)(at - begin), (size_t)(begin - source->bytes));
    }
    return at;
}

/* Does a number go on here, after its integer part or its fraction? */
static inline int json_parser_goes_on(uint8_t byte) { return byte == '.' || (byte | 32) == 'e'; }

/* Numbers that do not fit one word: ends and value are found without a jump for each digit. */
static __attribute__((noinline)) const uint8_t *json_parser_long_number(text *source, const uint8_t *begin, const uint8_t *first,
                                                            guildhall_json_node *node)
{
#ifdef GUILDHALL_JSON_LONG_NUMBER
    if (LIKELY(source->end - first > GUILDHALL_JSON_LONG_NUMBER)) {
        guildhall_json_digit_ends ends = guildhall_json_ends_of_digits(first);
        unsigned whole = ends.first, all = ends.second;
        if (LIKELY(whole && first[whole] == '.' && all < 32 && all > whole + 1 && all <= source->rules->max_decimal_digits &&
                   !json_parser_goes_on(first[all]) && (*first != '0' || whole == 1))) {
            *node = guildhall_json_make(GUILDHALL_JSON_FLOAT, (size_t)(first - begin) + all, (size_t)(begin - source->bytes));
            return first + all;
        }
        if (LIKELY(whole >= 8 && whole < 16 && !json_parser_goes_on(first[whole]) && *first != '0')) {
            uint64_t high = guildhall_json_load_digits(first) << (8 * (16 - whole) - 1) << 1;
            uint64_t value = guildhall_json_eight_digits(high) * 100000000 +
                             guildhall_json_eight_digits(guildhall_json_load_digits(first + whole - 8));
            *node = (first == begin ? value : -value) << 4 | GUILDHALL_JSON_INTEGER;
            return first + whole;
        }
    }
#endif
    return json_parser_any_number(source, begin, node);
}

/* `first`: where the digits begin. Integers and decimals that lie, with the byte after them, in one word are most
 * numbers. What is found depends on how many digits there are, but for the end of it no jump does. */
INLINED const uint8_t *json_parser_number_from(text *source, const uint8_t *begin, const uint8_t *first,
                                                                        guildhall_json_node *node)
{
    if (LIKELY(source->end - first >= 8)) {
        uint64_t values = guildhall_json_load_digits(first), others = guildhall_json_others(values);
        unsigned whole = (unsigned)__builtin_ctzll(others | (uint64_t)1 << 63) >> 3;
        if (LIKELY(others && whole && (*first != '0' || whole == 1))) {
            if (LIKELY(!json_parser_goes_on(first[whole]))) {
                uint64_t value = guildhall_json_eight_digits(values << (64 - whole * 8));
                *node = (first == begin ? value : -value) << 4 | GUILDHALL_JSON_INTEGER;
                return first + whole;
            }
            others &= others - 1;
            unsigned all = (unsigned)__builtin_ctzll(others | (uint64_t)1 << 63) >> 3;
            if (LIKELY(others && first[whole] == '.' && all > whole + 1 && !json_parser_goes_on(first[all]))) {
                *node = guildhall_json_make(GUILDHALL_JSON_FLOAT, (size_t)(first - begin) + all, (size_t)(begin - source->bytes));
                return first + all;
            }
        }
    }
    return json_parser_long_number(source, begin, first, node);
}

static __attribute__((noinline)) const uint8_t *json_parser_negative_number(text *source, const uint8_t *begin, guildhall_json_node *node)
{
    return json_parser_number_from(source, begin, begin + 1, node);
}

INLINED const uint8_t *json_parser_number(text *source, const uint8_t *begin, guildhall_json_node *node)
{
    if (UNLIKELY(*begin == '-')) return json_parser_negative_number(source, begin, node);
    return json_parser_number_from(source, begin, begin, node);
}

/* A value that begins neither with a bracket, a quote nor a digit, and is none of the three words with a byte after it. */
static __attribute__((noinline)) const uint8_t *json_parser_odd_value(text *source, const uint8_t *at, guildhall_json_node *node)
{
    if (*at == 'N' || *at == 'I') return json_parser_constant(source, at, at, *at == 'N' ? "NaN" : "Infinity", node);
    int whole = source->end - at == 4;
    *node = *at == 't' ? GUILDHALL_JSON_TRUE : GUILDHALL_JSON_NULL;
    if (whole && (!memcmp(at, "true", 4) || !memcmp(at, "null", 4))) return at + 4;
    return json_parser_fail(source, at, GUILDHALL_JSON_UNEXPECTED);
}

typedef struct {
    char first[4], last;
    uint8_t length, type;
} word;

/* By two bits of their first letter and one more. No value that gets here begins with a quote. */
#define NO_WORD {"\"\"\"\"", '"', 4, 0}
static const word words[8] = {NO_WORD, {"fals", 'e', 5, GUILDHALL_JSON_FALSE}, NO_WORD, {"null", 'l', 4, GUILDHALL_JSON_NULL},
                              NO_WORD, {"true", 'e', 4, GUILDHALL_JSON_TRUE},  NO_WORD, NO_WORD};

/* Which of true, false and null it is, the processor could not foresee: so no jump depends on it. */
static inline const uint8_t *json_parser_literal(text *source, const uint8_t *at, guildhall_json_node *node)
{
    if (UNLIKELY(source->end - at < 5)) return json_parser_odd_value(source, at, node);
    const word *expected = &words[*at >> 2 & 7];
    *node = expected->type;
    int found = !memcmp(at, expected->first, 4) & (at[expected->length - 1] == (uint8_t)expected->last);
    return LIKELY(found) ? at + expected->length : json_parser_odd_value(source, at, node);
}

/* Any value that is not a string or a container. */
static inline const uint8_t *json_parser_scalar(text *source, const uint8_t *at, guildhall_json_node *node)
{
    if (LIKELY(guildhall_json_is_digit(*at) || *at == '-')) return json_parser_number(source, at, node);
    return json_parser_literal(source, at, node);
}

static inline int json_parser_is_space(uint8_t byte)
{
    return byte <= ' ' && (byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t');
}

static inline const uint8_t *json_parser_skip_space(const uint8_t *at, const uint8_t *end)
{
    while (at < end && UNLIKELY(json_parser_is_space(*at))) at++;
    return at;
}

/* Sees to unique keys in the object that has just been closed; returns 0 at an error. */
static int json_parser_unique_keys(text *source, guildhall_json_scratch *scratch, uint32_t object, uint64_t print)
{
    guildhall_json_view view = {source->bytes, source->end, scratch->nodes};
    uint32_t twice = guildhall_json_duplicate(view, object, scratch);
    if (LIKELY(!twice)) {
        scratch->unique[print % GUILDHALL_JSON_REMEMBERED] = print;
        return 1;
    }
    if (twice == UINT32_MAX) return json_parser_fail(source, source->bytes, GUILDHALL_JSON_NO_MEMORY), 0;
    if (!source->rules->allow_duplicate_key) {
        return json_parser_fail(source, guildhall_json_source(view, scratch->nodes[twice]) - 1, GUILDHALL_JSON_DUPLICATE_KEY), 0;
    }
    scratch->nodes[object] += GUILDHALL_JSON_REPEATED - GUILDHALL_JSON_OBJECT;
    source->deduplicated = 1;
    return 1;
}

/* Compares the predicted key with the text at `at`: returns the position after its colon, or NULL if they differ. */
INLINED const uint8_t *json_parser_foreseen_key(text *source, const uint8_t *at, guildhall_json_node *node)
{
    guildhall_json_scratch *scratch = source->scratch;
    uint16_t slot = scratch->foreseen[source->cue];
    const guildhall_json_known_key *known = &scratch->known[slot];
    if (UNLIKELY(!guildhall_json_stands_at(known, at, source->end))) return NULL;
    source->cue = guildhall_json_cue_after(source->cue, slot);
    source->print = guildhall_json_fingerprint_of_list(source->print, known->print);
    *node = known->node | (uint64_t)(at + 1 - source->bytes) << 32;
    return at + known->span;
}

/* The position after the colon that is next, NULL at an error. */
static inline const uint8_t *json_parser_colon(text *source, const uint8_t *at)
{
    at = json_parser_skip_space(at, source->end);
    if (UNLIKELY(at >= source->end)) return json_parser_fail(source, source->end, GUILDHALL_JSON_UNEXPECTED_END);
    return LIKELY(*at == ':') ? at + 1 : json_parser_fail(source, at, GUILDHALL_JSON_EXPECTED_COLON);
}

/* A key that was not foreseen, its opening quote at `at`. Returns the position after its colon, NULL at an error. */
static __attribute__((noinline)) const uint8_t *json_parser_other_key(text *source, const uint8_t *at, guildhall_json_node *node)
{
    guildhall_json_scratch *scratch = source->scratch;
    const uint8_t *key = at + 1, *after = json_parser_string(source, key, node);
    if (!after) return NULL;
    size_t length = (size_t)(after - key - 1);
    if (UNLIKELY(source->rules->symbol_keys && source->rules->allow_invalid_utf8)) { /* there are no other Symbols */
        const uint8_t *error = guildhall_utf8_error(key, key + length);
        if (error < key + length) return json_parser_fail(source, error, GUILDHALL_JSON_INVALID_UTF8);
    }
    uint64_t print = guildhall_json_fingerprint(key, length, source->end, scratch->seed);
    source->print = guildhall_json_fingerprint_of_list(source->print, print);
    int worth_knowing = guildhall_json_worth_knowing(scratch, (size_t)(node - scratch->nodes));
    if (worth_knowing && guildhall_json_type_of(*node) == GUILDHALL_JSON_ASCII && length <= GUILDHALL_JSON_KNOWN_LENGTH) {
        uint16_t slot = guildhall_json_note_key(scratch->known, key, length, print);
        scratch->foreseen[source->cue] = slot;
        source->cue = guildhall_json_cue_after(source->cue, slot);
    }
    return json_parser_colon(source, after);
}

/* A container begins. Its node holds, until it is closed, the index of the one around it. */
static inline guildhall_json_node *json_parser_open_container(text *source, guildhall_json_node *out, uint32_t *count,
                                                  const uint8_t *bracket, int object)
{
    guildhall_json_node *nodes = source->scratch->nodes;
    if (UNLIKELY(source->depth >= source->rules->max_nesting)) {
        json_parser_fail(source, bracket, GUILDHALL_JSON_TOO_DEEP);
        return NULL;
    }
    source->depth++;
    if (LIKELY(source->open != NO_CONTAINER)) {
        nodes[source->open] |= (uint64_t)*count << 4;
        source->scratch->places[source->depth].print = source->print;
    }
    source->scratch->places[source->depth].cue = source->cue;
    *out = guildhall_json_make(object ? GUILDHALL_JSON_OBJECT : GUILDHALL_JSON_ARRAY, 0, source->open);
    source->open = (uint32_t)(out - nodes);
    source->print = source->scratch->seed;
    source->cue = guildhall_json_cue_inside(source->cue);
    *count = 0;
    return out + 1;
}

/* A container ends, and the one around it goes on. Returns where the tape goes on, NULL at an error. */
static inline guildhall_json_node *json_parser_close_container(text *source, guildhall_json_node *out, uint32_t *count, int object)
{
    guildhall_json_scratch *scratch = source->scratch;
    guildhall_json_node *nodes = scratch->nodes;
    uint32_t closed = source->open;
    source->open = guildhall_json_offset(nodes[closed]);
    nodes[closed] = guildhall_json_make(object ? GUILDHALL_JSON_OBJECT : GUILDHALL_JSON_ARRAY, *count, (size_t)(out - nodes));
    uint64_t print = source->print;
    if (object && *count > 1 && UNLIKELY(scratch->unique[print % GUILDHALL_JSON_REMEMBERED] != print)) {
        if (UNLIKELY(!json_parser_unique_keys(source, scratch, closed, print))) return NULL;
    }
    uint32_t depth = source->depth--;
    source->cue = (uint32_t)scratch->places[depth].cue;
    if (source->open != NO_CONTAINER) {
        guildhall_json_node around = nodes[source->open];
        source->print = scratch->places[depth].print;
        *count = guildhall_json_length(around);
        nodes[source->open] = around & ~((uint64_t)0xfffffff << 4);
    }
    return out;
}

/* An array or an object? Their brackets differ in one bit. */
static inline int json_parser_opens(uint8_t byte) { return (byte | 0x20) == '{'; }

/* The state machine. Returns the number of nodes, 0 at an error. One function on purpose, with a loop for arrays and one
 * for objects: which of them it is in is known by the place in the code. */
static size_t json_parser_run(text *source)
{
    const uint8_t *at = source->bytes, *const end = source->end;
    const uint8_t *key;
    guildhall_json_node *out = source->scratch->nodes;
    uint32_t count = 0;
    int object;

    at = json_parser_skip_space(at, end);
    if (UNLIKELY(at >= end)) return json_parser_fail(source, end, GUILDHALL_JSON_EMPTY), 0;
    if (json_parser_opens(*at)) goto container;
    at = *at == '"' ? json_parser_string(source, at + 1, out++) : json_parser_scalar(source, at, out++);
    if (UNLIKELY(!at)) return 0;
    goto document_end;

element:
    if (UNLIKELY(at >= end)) goto unexpected_end;
    if (*at == '"') {
        at = json_parser_string(source, at + 1, out++);
    } else if (json_parser_opens(*at)) {
        goto container;
    } else if (UNLIKELY(json_parser_is_space(*at))) {
        at = json_parser_skip_space(at, end);
        goto element;
    } else {
        if (UNLIKELY(*at == ']' && count && source->rules->allow_trailing_comma)) goto array_end;
        at = json_parser_scalar(source, at, out++);
    }
    if (UNLIKELY(!at)) return 0;
after_element:
    count++;
    if (LIKELY(at < end && *at == ',')) {
        at++;
        goto element;
    }
    at = json_parser_skip_space(at, end);
    if (UNLIKELY(at >= end)) goto unexpected_end;
    if (*at == ',') {
        at++;
        goto element;
    }
    if (UNLIKELY(*at != ']')) return json_parser_fail(source, at, GUILDHALL_JSON_EXPECTED_COMMA_OR_BRACKET), 0;
array_end:
    at++;
    out = json_parser_close_container(source, out, &count, 0);
    goto closed;

member:
    key = UNLIKELY(source->scratch->blind) ? NULL : json_parser_foreseen_key(source, at, out);
    if (UNLIKELY(!key)) {
        key = json_parser_skip_space(at, end);
        if (UNLIKELY(key >= end)) goto unexpected_end;
        if (UNLIKELY(*key != '"')) {
            at = key;
            if (*at == '}' && count && source->rules->allow_trailing_comma) goto object_end;
            return json_parser_fail(source, at, GUILDHALL_JSON_EXPECTED_KEY), 0;
        }
        at = key == at || source->scratch->blind ? NULL : json_parser_foreseen_key(source, key, out);
        key = at ? at : json_parser_other_key(source, key, out);
        if (UNLIKELY(!key)) return 0;
    }
    at = key;
    out++;
member_value:
    if (UNLIKELY(at >= end)) goto unexpected_end;
    if (*at == '"') {
        at = json_parser_string(source, at + 1, out++);
    } else if (json_parser_opens(*at)) {
        goto container;
    } else if (UNLIKELY(json_parser_is_space(*at))) {
        at = json_parser_skip_space(at, end);
        goto member_value;
    } else {
        at = json_parser_scalar(source, at, out++);
    }
    if (UNLIKELY(!at)) return 0;
after_member:
    count++;
    if (LIKELY(at < end && *at == ',')) {
        at++;
        goto member;
    }
    at = json_parser_skip_space(at, end);
    if (UNLIKELY(at >= end)) goto unexpected_end;
    if (*at == ',') {
        at++;
        goto member;
    }
    if (UNLIKELY(*at != '}')) return json_parser_fail(source, at, GUILDHALL_JSON_EXPECTED_COMMA_OR_BRACE), 0;
object_end:
    at++;
    out = json_parser_close_container(source, out, &count, 1);
closed:
    if (UNLIKELY(!out)) return 0;
around:
    if (source->open == NO_CONTAINER) goto document_end;
    if (guildhall_json_type_of(source->scratch->nodes[source->open]) == GUILDHALL_JSON_OBJECT) goto after_member;
    goto after_element;

container:
    object = *at == '{';
    const uint8_t *bracket = at;
    at = json_parser_skip_space(at + 1, end);
    if (UNLIKELY(at >= end)) goto unexpected_end;
    if (*at == (object ? '}' : ']')) { /* empty: no deeper than what it stands in */
        at++;
        *out = guildhall_json_make(object ? GUILDHALL_JSON_OBJECT : GUILDHALL_JSON_ARRAY, 0, (size_t)(out + 1 - source->scratch->nodes));
        out++;
        goto around;
    }
    out = json_parser_open_container(source, out, &count, bracket, object);
    if (UNLIKELY(!out)) return 0;
    if (object) goto member;
    goto element;

document_end:
    at = json_parser_skip_space(at, end);
    if (UNLIKELY(at != end)) return json_parser_fail(source, at, GUILDHALL_JSON_AFTER_END), 0;
    return (size_t)(out - source->scratch->nodes);
unexpected_end:
    return json_parser_fail(source, end, GUILDHALL_JSON_UNEXPECTED_END), 0;
}

guildhall_json_outcome GUILDHALL_JSON_PARSER(const uint8_t *bytes, size_t length, const guildhall_json_rules *rules,
                                             guildhall_json_scratch *scratch)
{
    text source = {.bytes = bytes, .end = bytes + length, .rules = rules, .checked = bytes, .scratch = scratch,
                   .open = NO_CONTAINER};
    size_t count = json_parser_run(&source);
    scratch->passed += count;
    if (UNLIKELY(count && source.deduplicated)) {
        guildhall_json_view view = {source.bytes, source.end, scratch->nodes};
        count = guildhall_json_keep_last(view, scratch->nodes, count, rules->max_nesting, scratch);
        if (!count) json_parser_fail(&source, source.bytes, GUILDHALL_JSON_NO_MEMORY);
    }
    if (count) return (guildhall_json_outcome){GUILDHALL_JSON_VALID, 0, count, source.deduplicated};
    return (guildhall_json_outcome){source.status, (size_t)(source.error - bytes), 0, 0};
}

/* Reading a tape: escape sequences, comparing text, finding a member. */
#include "tape.h"
#include "text/utf8.h"

static inline uint32_t json_tape_hex_digit(uint8_t digit)
{
    return (uint32_t)(digit <= '9' ? digit - '0' : (digit | 32) - 'a' + 10);
}

static inline uint32_t json_tape_hex4(const uint8_t *digits)
{
    return json_tape_hex_digit(digits[0]) << 12 | json_tape_hex_digit(digits[1]) << 8 | json_tape_hex_digit(digits[2]) << 4 | json_tape_hex_digit(digits[3]);
}

/* The escape sequence at *at (after the backslash, valid already) as UTF-8 at `out`; moves both. */
static uint8_t *json_tape_unescape_one(const uint8_t **at, uint8_t *out)
{
    uint8_t letter = *(*at)++;
    switch (letter) {
    case 'b': *out++ = '\b'; return out;
    case 'f': *out++ = '\f'; return out;
    case 'n': *out++ = '\n'; return out;
    case 'r': *out++ = '\r'; return out;
    case 't': *out++ = '\t'; return out;
    case 'u': break;
    default: *out++ = letter; return out;
    }
    uint32_t code = json_tape_hex4(*at);
    *at += 4;
    if (code >= 0xD800 && code < 0xDC00) { /* the parser saw to it that the other half follows */
        code = 0x10000 + ((code - 0xD800) << 10) + (json_tape_hex4(*at + 2) - 0xDC00);
        *at += 6;
    }
    return guildhall_utf8_write(out, code);
}

size_t guildhall_json_unescape(const uint8_t *source, size_t length, uint8_t *out)
{
    const uint8_t *at = source, *end = source + length;
    uint8_t *begin = out;
    while (at < end) {
        const uint8_t *backslash = memchr(at, '\\', (size_t)(end - at));
        size_t plain = (size_t)((backslash ? backslash : end) - at);
        memcpy(out, at, plain);
        out += plain;
        at += plain;
        if (backslash) {
            at++;
            out = json_tape_unescape_one(&at, out);
        }
    }
    return (size_t)(out - begin);
}

static int json_tape_escaped_equals(const uint8_t *at, const uint8_t *end, const uint8_t *text, size_t length)
{
    const uint8_t *text_end = text + length;
    while (at < end) {
        uint8_t piece[4];
        size_t size = 1;
        if (*at == '\\') {
            at++;
            size = (size_t)(json_tape_unescape_one(&at, piece) - piece);
        } else {
            piece[0] = *at++;
        }
        if ((size_t)(text_end - text) < size || memcmp(text, piece, size)) return 0;
        text += size;
    }
    return text == text_end;
}

int guildhall_json_text_equals(guildhall_json_view view, guildhall_json_node string, const uint8_t *text,
                               size_t length)
{
    const uint8_t *source = guildhall_json_source(view, string);
    size_t size = guildhall_json_length(string);
    if (guildhall_json_type_of(string) == GUILDHALL_JSON_ESCAPED) {
        return json_tape_escaped_equals(source, source + size, text, length);
    }
    return size == length && !memcmp(source, text, length);
}

/* A key that is looked for: its first eight bytes as a word, so that one comparison rules out most others. */
typedef struct {
    const uint8_t *text;
    size_t length;
    uint64_t head, mask;
} wanted;

/* Two loads that overlap are quicker than a loop. */
static inline uint64_t json_tape_head(const uint8_t *text, size_t length)
{
    uint64_t head = 0;
    if (length >= 8) {
        memcpy(&head, text, 8);
    } else if (length >= 4) {
        uint32_t low, high;
        memcpy(&low, text, 4);
        memcpy(&high, text + length - 4, 4);
        head = low | (uint64_t)high << 8 * (length - 4);
    } else {
        for (size_t i = 0; i < length; i++) head |= (uint64_t)text[i] << 8 * i;
    }
    return head;
}

static inline wanted json_tape_wanted_key(const uint8_t *text, size_t length)
{
    uint64_t mask = length < 8 ? ((uint64_t)1 << 8 * length) - 1 : UINT64_MAX;
    return (wanted){.text = text, .length = length, .head = json_tape_head(text, length), .mask = mask};
}

/* Of a key of the same length, or with escapes. */
static int json_tape_is_wanted(guildhall_json_view view, guildhall_json_node name, const wanted *key)
{
    const uint8_t *source = guildhall_json_source(view, name);
    if (__builtin_expect(guildhall_json_type_of(name) == GUILDHALL_JSON_ESCAPED || view.end - source < 8, 0)) {
        return guildhall_json_text_equals(view, name, key->text, key->length);
    }
    uint64_t head;
    memcpy(&head, source, 8);
    if ((head ^ key->head) & key->mask) return 0;
    return key->length <= 8 || !memcmp(source + 8, key->text + 8, key->length - 8);
}

/* Most keys are ruled out by their length, without a look at the text. */
uint32_t guildhall_json_find(guildhall_json_view view, uint32_t object, const uint8_t *text, size_t length)
{
    const guildhall_json_node *nodes = view.nodes;
    uint32_t index = object + 1, end = guildhall_json_offset(nodes[object]);
    wanted key = json_tape_wanted_key(text, length);
    while (index < end) {
        guildhall_json_node name = nodes[index];
        if ((guildhall_json_length(name) == length || guildhall_json_type_of(name) == GUILDHALL_JSON_ESCAPED) && json_tape_is_wanted(view, name, &key)) {
            return index + 1;
        }
        index = guildhall_json_next(nodes, index + 1);
    }
    return 0;
}

/* One pass over a payload, no recursion: the open containers are in a list. A file that includes it has before:
 *
 *   MSGPACK(name)    the name with the file's prefix
 *   level            of an open container, has: uint32_t done, children (keys and values of a map are children alike), map (0 or 1)
 *   scan             has: guildhall_msgpack_input input; const guildhall_msgpack_rules *rules; uint32_t depth;
 *                    level levels[GUILDHALL_MSGPACK_NESTING_LIMIT]
 *   scalar           what is no array and no map, and whether it is a key
 *   child            one of a container's begins; whether it is a key
 *   open, close      a container that is not empty
 *   empty            one that is
 */
#define CHECK(expression)                                                                                              \
    do {                                                                                                               \
        status checked = (expression);                                                                                 \
        if (__builtin_expect(checked != GUILDHALL_MSGPACK_VALID, 0)) return checked;                                   \
    } while (0)

static inline status MSGPACK(container)(scan *s, const token *token)
{
    uint32_t map = token->type == GUILDHALL_MSGPACK_MAP;
    if (__builtin_expect(s->depth >= s->rules->max_nesting, 0)) return GUILDHALL_MSGPACK_TOO_DEEP;
    if (!token->length) return MSGPACK(empty)(s, map);
    level *opened = &s->levels[s->depth++];
    opened->done = 0;
    opened->children = token->length << map;
    opened->map = map;
    return MSGPACK(open)(s, opened, token);
}

/* One value with all that is in it. At an error of the payload the input is where the value began that has it. */
static inline __attribute__((always_inline)) status MSGPACK(value)(scan *s, int is_key)
{
    token token;
    do {
        level *around = s->depth ? &s->levels[s->depth - 1] : NULL;
        if (around) {
            is_key = (int)(around->map & ~around->done & 1);
            CHECK(MSGPACK(child)(s, around, is_key));
        }
        const uint8_t *begin = s->input.at;
        uint32_t depth = s->depth;
        status found = guildhall_msgpack_next(&s->input, &token);
        if (__builtin_expect(found == GUILDHALL_MSGPACK_VALID, 1)) {
            found = token.type >= GUILDHALL_MSGPACK_ARRAY ? MSGPACK(container)(s, &token) : MSGPACK(scalar)(s, &token, is_key);
        }
        if (__builtin_expect(found != GUILDHALL_MSGPACK_VALID, 0)) {
            s->input.at = begin;
            return found;
        }
        if (s->depth != depth) continue;
        for (; s->depth && ++s->levels[s->depth - 1].done == s->levels[s->depth - 1].children; s->depth--) {
            CHECK(MSGPACK(close)(s, &s->levels[s->depth - 1]));
        }
    } while (s->depth);
    return GUILDHALL_MSGPACK_VALID;
}

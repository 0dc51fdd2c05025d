/* The traversal of a program's bytes, for all who go through them. A file that includes it has before:
 *
 *   AVRO(name)       the name with the file's prefix
 *   traversal        has: guildhall_avro_input input; const guildhall_avro_program *program; uint32_t depth_left
 *   container        what is kept of an open record, array or map; has: uint64_t items, how many were found so far
 *   null, boolean, integer, real, text, binary, symbol, chosen, mismatch     what was found
 *   begin, block, item, key, end, end_record    a container: its beginning, a block that is not empty, an item, a map's key, its end
 *   field            of a record, which the reader has under this name
 *   left_out         goes past a field that the reader does not have; whether it is done for PAST
 *   failed_item, failed_field    notes in which one; returns the status that it is given
 *   jump             past an array or a map that is not empty (PAST)
 *
 * All but `begin` return a status; the first that is not VALID ends the traversal, with the input where it happened. Why it is made is
 * known when it is compiled, and what follows from that costs nothing. */

/* FIND reports each value. LEAVE_OUT skips a value without a report: it does not check texts and numbers, and jumps over blocks that state
 * their size. PAST skips a value that was checked before, and jumps over whole arrays and maps. */
typedef enum { FIND, LEAVE_OUT, PAST } purpose;

#define INLINED static inline __attribute__((always_inline))
#define FAILS(status) __builtin_expect((status) != GUILDHALL_AVRO_VALID, 0)
#define CHECK(expression)                                                                                              \
    do {                                                                                                               \
        status checked = (expression);                                                                                 \
        if (FAILS(checked)) return checked;                                                                            \
    } while (0)
#define FOUND(expression) return why == FIND ? (expression) : GUILDHALL_AVRO_VALID

/* The same once more, for a value inside. */
static status AVRO(inside)(traversal *t, uint32_t index, purpose why);

static inline const uint32_t *AVRO(operands)(const traversal *t, const node *node) { return t->program->operands + node->first; }

INLINED status AVRO(read_number)(traversal *t, int is_int, purpose why, int64_t *number)
{
    return is_int && why == FIND ? guildhall_avro_int(&t->input, number) : guildhall_avro_number(&t->input, number);
}

INLINED status AVRO(enum)(traversal *t, const node *node, purpose why)
{
    const uint8_t *head = t->input.at;
    int64_t index;
    CHECK(AVRO(read_number)(t, 1, why, &index));
    if (why != FIND) return GUILDHALL_AVRO_VALID;
    status wrong = GUILDHALL_AVRO_BAD_SYMBOL;
    if (index >= 0 && index < node->count) {
        uint32_t constant = AVRO(operands)(t, node)[index];
        if (__builtin_expect(constant != GUILDHALL_AVRO_SKIPPED, 1)) return AVRO(symbol)(t, constant);
        wrong = GUILDHALL_AVRO_UNKNOWN_SYMBOL;
    }
    t->input.at = head;
    return wrong;
}

INLINED status AVRO(union)(traversal *t, const node *node, purpose why)
{
    const uint8_t *head = t->input.at;
    int64_t index;
    CHECK(guildhall_avro_number(&t->input, &index));
    if (__builtin_expect(index < 0 || index >= node->count, 0)) {
        if (why == FIND) t->input.at = head;
        return GUILDHALL_AVRO_BAD_BRANCH;
    }
    uint32_t branch = AVRO(operands)(t, node)[index];
    CHECK(AVRO(inside)(t, branch, why));
    FOUND(AVRO(chosen)(t, branch));
}

INLINED status AVRO(items)(traversal *t, const node *node, int map, purpose why)
{
    uint32_t item = *AVRO(operands)(t, node);
    container c = {0};
    if (why == FIND) AVRO(begin)(t, &c);
    for (;;) {
        const uint8_t *bytes, *head = t->input.at;
        uint64_t count = 0;
        int64_t size;
        size_t length;
        status found = guildhall_avro_block_head(&t->input, &count, &size);
        if (why == PAST) return count ? AVRO(jump)(t) : GUILDHALL_AVRO_VALID;
        if (why == LEAVE_OUT && found == GUILDHALL_AVRO_VALID && count && size >= 0) {
            CHECK(guildhall_avro_take(&t->input, (size_t)size, &bytes));
            continue;
        }
        if (found == GUILDHALL_AVRO_VALID) found = guildhall_avro_afford(&t->input, &t->program->nodes[item], map, count);
        if (why == FIND && FAILS(found)) t->input.at = head;
        CHECK(found);
        if (!count) break;
        if (why == FIND) CHECK(AVRO(block)(t, &c));
        for (; count; count--, c.items++) {
            if (why == FIND) CHECK(AVRO(item)(t, &c, count));
            if (map) CHECK(guildhall_avro_span(&t->input, &bytes, &length));
            if (map && why == FIND) CHECK(AVRO(key)(t, bytes, length));
            found = AVRO(inside)(t, item, why);
            if (FAILS(found)) return why == FIND ? AVRO(failed_item)(t, &c, map, found) : found;
        }
    }
    FOUND(AVRO(end)(t, &c, map));
}

INLINED status AVRO(record)(traversal *t, const node *node, purpose why)
{
    const uint32_t *operand = AVRO(operands)(t, node), *end = operand + 2 * (size_t)node->count;
    container c = {0};
    if (why == FIND) AVRO(begin)(t, &c);
    CHECK(guildhall_avro_pay_for(&t->input, node));
    for (; operand < end; operand += 2) {
        if (why != LEAVE_OUT && __builtin_expect(operand[1] == GUILDHALL_AVRO_SKIPPED, 0)) {
            CHECK(AVRO(left_out)(t, operand[0], why == PAST));
            continue;
        }
        if (why == FIND) CHECK(AVRO(field)(t, operand[1]));
        status found = AVRO(inside)(t, operand[0], why);
        if (FAILS(found)) return why == FIND ? AVRO(failed_field)(t, operand[1], found) : found;
    }
    FOUND(AVRO(end_record)(t, &c, node));
}

INLINED status AVRO(container)(traversal *t, const node *node, purpose why)
{
    if (__builtin_expect(!t->depth_left, 0)) return GUILDHALL_AVRO_TOO_DEEP;
    t->depth_left--;
    CHECK(node->type == GUILDHALL_AVRO_RECORD ? AVRO(record)(t, node, why) :
          node->type == GUILDHALL_AVRO_MAP ? AVRO(items)(t, node, 1, why) : AVRO(items)(t, node, 0, why));
    t->depth_left++;
    return GUILDHALL_AVRO_VALID;
}

/* A value, whatever its logical type. */
INLINED status AVRO(value)(traversal *t, const node *node, purpose why)
{
    const uint8_t *bytes;
    size_t length;
    int64_t number;
    double real;
    switch ((guildhall_avro_type)node->type) {
    case GUILDHALL_AVRO_NULL: FOUND(AVRO(null)(t));
    case GUILDHALL_AVRO_BOOLEAN:
        CHECK(guildhall_avro_take(&t->input, 1, &bytes));
        FOUND(AVRO(boolean)(t, *bytes == 1));
    case GUILDHALL_AVRO_INT:
    case GUILDHALL_AVRO_LONG:
        CHECK(AVRO(read_number)(t, node->type == GUILDHALL_AVRO_INT, why, &number));
        FOUND(AVRO(integer)(t, node, number));
    case GUILDHALL_AVRO_INT_AS_REAL:
    case GUILDHALL_AVRO_LONG_AS_REAL:
        CHECK(AVRO(read_number)(t, node->type == GUILDHALL_AVRO_INT_AS_REAL, why, &number));
        FOUND(AVRO(real)(t, (double)number));
    case GUILDHALL_AVRO_FLOAT:
        CHECK(guildhall_avro_float(&t->input, &real));
        FOUND(AVRO(real)(t, real));
    case GUILDHALL_AVRO_DOUBLE:
        CHECK(guildhall_avro_double(&t->input, &real));
        FOUND(AVRO(real)(t, real));
    case GUILDHALL_AVRO_BYTES:
        CHECK(guildhall_avro_span(&t->input, &bytes, &length));
        FOUND(AVRO(binary)(t, bytes, length));
    case GUILDHALL_AVRO_STRING:
        CHECK(guildhall_avro_span(&t->input, &bytes, &length));
        FOUND(AVRO(text)(t, bytes, length));
    case GUILDHALL_AVRO_FIXED:
        CHECK(guildhall_avro_take(&t->input, node->count, &bytes));
        FOUND(AVRO(binary)(t, bytes, node->count));
    case GUILDHALL_AVRO_ENUM: return AVRO(enum)(t, node, why);
    case GUILDHALL_AVRO_UNION: return AVRO(union)(t, node, why);
    case GUILDHALL_AVRO_ARRAY:
    case GUILDHALL_AVRO_MAP:
    case GUILDHALL_AVRO_RECORD: return AVRO(container)(t, node, why);
    case GUILDHALL_AVRO_MISMATCH: break;
    }
    return AVRO(mismatch)(t, node);
}

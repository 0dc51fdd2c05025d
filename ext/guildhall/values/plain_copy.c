/* Each value is a word that says what it is, how large, and in which encoding; then what is in it, in words of eight bytes. */
#include "plain_copy.h"
#include <guildhall/sharing.h>
#include <ruby/encoding.h>
#include <stdlib.h>
#include <string.h>
#include "frozen.h"
#include "init.h"

enum {
    MAX_DEPTH = 32,     /* what leads back to itself is deeper */
    MAX_NODES = 65536,  /* what is in it many times would become large */
    MUCH = 1 << 20,     /* bytes; from there on a String is written once */
    LONG = 128,         /* bytes; shorter ones may come again */
    KIND_BITS = 4, ENCODING_BITS = 8
};

typedef enum { KIND_STRING = 1, KIND_REFERENCE, KIND_ARRAY, KIND_HASH, KIND_FLOAT, KIND_CONSTANT } kind;

static ID id_default, id_default_proc, id_identity;

static bool plain_write(guildhall_plain_writer *, VALUE, unsigned depth);

void guildhall_plain_begin(guildhall_plain_writer *writer)
{
    writer->bytes = writer->on_stack;
    writer->length = writer->nodes = writer->reference_count = 0;
    writer->capacity = sizeof writer->on_stack;
    writer->texts = NULL;
}

void guildhall_plain_end(guildhall_plain_writer *writer)
{
    if (writer->bytes != writer->on_stack) free(writer->bytes);
    if (writer->texts) st_free_table(writer->texts);
}

/* NULL: no memory. */
static uint8_t *plain_room(guildhall_plain_writer *writer, size_t size)
{
    if (writer->capacity - writer->length < size) {
        size_t capacity = writer->capacity * 2 > writer->length + size ? writer->capacity * 2 : writer->length + size;
        bool first = writer->bytes == writer->on_stack;
        uint8_t *grown = realloc(first ? NULL : writer->bytes, capacity);
        if (!grown) return NULL;
        if (first) memcpy(grown, writer->on_stack, writer->length);
        writer->bytes = grown;
        writer->capacity = capacity;
    }
    uint8_t *at = writer->bytes + writer->length;
    writer->length += size;
    return at;
}

static bool plain_word(guildhall_plain_writer *writer, uint64_t word)
{
    uint8_t *at = plain_room(writer, sizeof word);
    if (at) memcpy(at, &word, sizeof word);
    return at != NULL;
}

static bool plain_tag(guildhall_plain_writer *writer, kind of, size_t size, int encoding)
{
    return plain_word(writer, (uint64_t)size << (KIND_BITS + ENCODING_BITS) | (uint64_t)encoding << KIND_BITS | (uint64_t)of);
}

static bool plain_reference(guildhall_plain_writer *writer, VALUE object)
{
    size_t index = 0;
    while (index < writer->reference_count && writer->references[index] != object) index++;
    if (index == GUILDHALL_PLAIN_REFERENCES) return false;
    if (index == writer->reference_count) writer->references[writer->reference_count++] = object;
    return plain_tag(writer, KIND_REFERENCE, index, 0);
}

/* One long String may be in the data thousands of times: written each time, it would fill the memory. */
static bool plain_written_before(guildhall_plain_writer *writer, VALUE string, size_t length)
{
    if (length < LONG || writer->length < MUCH) return false;
    if (!writer->texts) writer->texts = st_init_numtable();
    return st_insert(writer->texts, (st_data_t)string, 0);
}

static bool plain_text(guildhall_plain_writer *writer, VALUE string)
{
    int encoding = RB_ENCODING_GET_INLINED(string);
    size_t length = (size_t)RSTRING_LEN(string);
    if (plain_written_before(writer, string, length)) return false;
    if (encoding == RUBY_ENCODING_INLINE_MAX || !plain_tag(writer, KIND_STRING, length, encoding)) return false;
    uint8_t *at = plain_room(writer, (length + 7) & ~(size_t)7);
    if (at) memcpy(at, RSTRING_PTR(string), length);
    return at != NULL;
}

static bool plain_array(guildhall_plain_writer *writer, VALUE array, unsigned depth)
{
    if (!plain_tag(writer, KIND_ARRAY, (size_t)RARRAY_LEN(array), 0)) return false;
    for (long i = 0; i < RARRAY_LEN(array); i++)
        if (!plain_write(writer, RARRAY_AREF(array, i), depth)) return false;
    return true;
}

typedef struct {
    guildhall_plain_writer *writer;
    unsigned depth;
    bool plain;
} pairs;

/* One that Ruby hashes and compares itself: what is made of it again runs no Ruby code. */
static bool plain_key_p(VALUE key)
{
    if (RB_SPECIAL_CONST_P(key)) return true;
    switch (RB_BUILTIN_TYPE(key)) {
    case T_STRING: return RBASIC_CLASS(key) == rb_cString;
    case T_SYMBOL:
    case T_FLOAT:
    case T_BIGNUM: return true;
    default: return false;
    }
}

static int plain_pair(VALUE key, VALUE value, VALUE argument)
{
    pairs *of = (pairs *)argument;
    of->plain = plain_key_p(key) && plain_write(of->writer, key, of->depth) && plain_write(of->writer, value, of->depth);
    return of->plain ? ST_CONTINUE : ST_STOP;
}

static bool plain_answer(VALUE hash, ID method, VALUE expected)
{
    return rb_method_basic_definition_p(rb_cHash, method) && rb_funcallv(hash, method, 0, NULL) == expected;
}

static bool plain_hash(guildhall_plain_writer *writer, VALUE hash, unsigned depth)
{
    bool usual = plain_answer(hash, id_default_proc, Qnil) && plain_answer(hash, id_default, Qnil) && plain_answer(hash, id_identity, Qfalse);
    if (!usual || !plain_tag(writer, KIND_HASH, RHASH_SIZE(hash), 0)) return false;
    pairs of = {writer, depth, true};
    rb_hash_foreach(hash, plain_pair, (VALUE)&of);
    return of.plain;
}

/* Of Ruby's own class, and no more than its contents. */
static bool plain_p(VALUE object, VALUE class) { return RBASIC_CLASS(object) == class && !rb_ivar_count(object); }

static bool plain_write(guildhall_plain_writer *writer, VALUE object, unsigned depth)
{
    if (depth == MAX_DEPTH || ++writer->nodes > MAX_NODES) return false;
    if (RB_SPECIAL_CONST_P(object)) return plain_tag(writer, KIND_CONSTANT, 0, 0) && plain_word(writer, object);
    if (guildhall_shared(object)) return plain_reference(writer, object);
    switch (RB_BUILTIN_TYPE(object)) {
    case T_STRING: return plain_p(object, rb_cString) && plain_text(writer, object);
    case T_ARRAY: return plain_p(object, rb_cArray) && plain_array(writer, object, depth + 1);
    case T_HASH: return plain_p(object, rb_cHash) && plain_hash(writer, object, depth + 1);
    case T_FLOAT: {
        double number = RFLOAT_VALUE(object);
        uint64_t bits;
        memcpy(&bits, &number, sizeof bits);
        return plain_tag(writer, KIND_FLOAT, 0, 0) && plain_word(writer, bits);
    }
    default: return false;
    }
}

bool guildhall_plain_write(guildhall_plain_writer *writer, VALUE object) { return plain_write(writer, object, 0); }

static int plain_freeze_pair(VALUE key, VALUE value, VALUE nothing)
{
    guildhall_plain_freeze(key);
    guildhall_plain_freeze(value);
    return ST_CONTINUE;
}

void guildhall_plain_freeze(VALUE object)
{
    if (guildhall_shared(object)) return;
    switch (RB_BUILTIN_TYPE(object)) {
    case T_ARRAY:
        for (long i = 0; i < RARRAY_LEN(object); i++) guildhall_plain_freeze(RARRAY_AREF(object, i));
        break;
    case T_HASH: rb_hash_foreach(object, plain_freeze_pair, Qnil); break;
    case T_STRING: break;
    default: return;
    }
    rb_obj_freeze(object);
}

static uint64_t plain_next(const uint8_t **at)
{
    uint64_t word;
    memcpy(&word, *at, sizeof word);
    *at += sizeof word;
    return word;
}

static VALUE plain_make(const uint8_t **at, const VALUE *references);

static VALUE plain_make_text(const uint8_t **at, size_t length, int encoding)
{
    VALUE made = rb_enc_str_new((const char *)*at, (long)length, rb_enc_from_index(encoding));
    *at += (length + 7) & ~(size_t)7;
    return guildhall_share(made);
}

static VALUE plain_make_array(const uint8_t **at, const VALUE *references, size_t size)
{
    VALUE made = rb_ary_new_capa((long)size);
    for (size_t i = 0; i < size; i++) rb_ary_push(made, plain_make(at, references));
    return guildhall_share(made);
}

static VALUE plain_make_hash(const uint8_t **at, const VALUE *references, size_t size)
{
    VALUE made = rb_hash_new_capa((long)size);
    for (size_t i = 0; i < size; i++) {
        VALUE key = plain_make(at, references), value = plain_make(at, references);
        rb_hash_aset(made, key, value);
    }
    return guildhall_share(made);
}

static VALUE plain_make(const uint8_t **at, const VALUE *references)
{
    uint64_t tag = plain_next(at);
    size_t size = (size_t)(tag >> (KIND_BITS + ENCODING_BITS));
    int encoding = (int)(tag >> KIND_BITS & ((1u << ENCODING_BITS) - 1));
    switch ((kind)(tag & ((1u << KIND_BITS) - 1))) {
    case KIND_STRING: return plain_make_text(at, size, encoding);
    case KIND_REFERENCE: return references[size];
    case KIND_ARRAY: return plain_make_array(at, references, size);
    case KIND_HASH: return plain_make_hash(at, references, size);
    case KIND_FLOAT: {
        uint64_t bits = plain_next(at);
        double number;
        memcpy(&number, &bits, sizeof number);
        return DBL2NUM(number);
    }
    default: return (VALUE)plain_next(at);
    }
}

VALUE guildhall_plain_read(const uint8_t *bytes, const VALUE *references) { return plain_make(&bytes, references); }

void guildhall_init_plain_copy(void)
{
    id_default = rb_intern("default");
    id_default_proc = rb_intern("default_proc");
    id_identity = rb_intern("compare_by_identity?");
}

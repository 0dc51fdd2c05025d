/* How Ruby objects fit the types of a schema, and which branch of a union an object is written as. Needs the GVL; logical types
 * run Ruby code. */
#ifndef GUILDHALL_AVRO_FIT_H
#define GUILDHALL_AVRO_FIT_H

#include "codec.h"

/* What is known of the branches of unions in one encode. It lies on the C stack. */
typedef struct {
    const guildhall_avro_codec *codec;
    uint64_t looks;       /* values compared with types, for the union that is written now */
    volatile VALUE known; /* by identity: an object → a Hash of nodes and how it fits them; 0: nothing yet */
} guildhall_avro_search;

/* As far as one look shows. */
int guildhall_avro_resembles(const guildhall_avro_codec *codec, const guildhall_avro_node *node, VALUE object);
/* The value under a node's logical type, which is left in *object; 0 when it is none. */
int guildhall_avro_reduce(const guildhall_avro_codec *codec, const guildhall_avro_node *node, VALUE *object);
/* Is it a number that a float or double may be written from? */
int guildhall_avro_is_real(VALUE object);
/* The number of the symbol; -1: there is no such symbol. */
int64_t guildhall_avro_symbol_index(const guildhall_avro_codec *codec, const guildhall_avro_node *node, VALUE object);
/* What a Hash has for a record's field, by name, else by Symbol; Qundef: neither. */
VALUE guildhall_avro_given(const guildhall_avro_codec *codec, VALUE hash, uint32_t name);
/* The index of the branch that an object is written as, which is left in *object without its Guildhall::Avro::Branch or Document;
 * UINT32_MAX: it fits none. depth: levels that may be below. */
uint32_t guildhall_avro_branch_of(guildhall_avro_search *search, const guildhall_avro_node *node, VALUE *object, uint32_t depth);
/* A union's branch as a message names it: by its own name, else by its type's. */
VALUE guildhall_avro_label(const guildhall_avro_codec *codec, const guildhall_avro_node *branch);
const char *guildhall_avro_type_name(const guildhall_avro_node *node);

void guildhall_init_avro_fit(void);

#endif

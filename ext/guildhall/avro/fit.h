/* How Ruby objects fit the types of a schema, and which branch of a union an object is written as. Needs the GVL; logical types
 * run Ruby code. */
#ifndef GUILDHALL_AVRO_FIT_H
#define GUILDHALL_AVRO_FIT_H

#include "codec.h"

/* Worse to better. CUT: a part of it is lost, such as a DateTime's time of day. WITHOUT_MEANING: it is no value of the logical type.
 * EXACT: it comes back from there as it is. */
typedef enum {
    GUILDHALL_AVRO_NO_FIT, GUILDHALL_AVRO_CUT, GUILDHALL_AVRO_WITHOUT_MEANING, GUILDHALL_AVRO_FITS, GUILDHALL_AVRO_EXACT
} guildhall_avro_fit;

/* What is known of the branches of unions in one encode. It lies on the C stack. */
typedef struct {
    uint64_t looks;       /* values compared with types, for the union that is written now */
    volatile VALUE known; /* by identity: an object → a Hash of nodes and how it fits them; 0: nothing yet */
} guildhall_avro_search;

/* As far as one look shows. */
guildhall_avro_fit guildhall_avro_resembles(const guildhall_avro_codec *codec, const guildhall_avro_node *node, VALUE object);

/* The value under a node's logical type, which is left in *object; 0 when it is none. */
int guildhall_avro_reduce(const guildhall_avro_codec *codec, const guildhall_avro_node *node, VALUE *object);

/* How the object resembles the type under its logical type. */
guildhall_avro_fit guildhall_avro_resembles_reduced(const guildhall_avro_codec *codec, const guildhall_avro_node *node, VALUE *object);

/* Is it a number that a float or double may be written from? */
int guildhall_avro_is_real(VALUE object);

/* Does a branch have a logical type whose values are numbers with a fraction? */
int guildhall_avro_is_decimal(const guildhall_avro_codec *codec, const guildhall_avro_node *node);

/* The number of the symbol; -1: there is no such symbol. */
int64_t guildhall_avro_symbol_index(const guildhall_avro_codec *codec, const guildhall_avro_node *node, VALUE object);

/* What a Hash has for a record's field: by name, else by Symbol; the fallback where there is neither. */
VALUE guildhall_avro_given(const guildhall_avro_codec *codec, VALUE hash, uint32_t name, VALUE fallback);

/* branch.c: the index of the branch that an object is written as, which is left in *object without its Guildhall::Avro::Branch
 * or Document; UINT32_MAX: it fits none. depth: levels that may be below. */
uint32_t guildhall_avro_branch_of(const guildhall_avro_codec *codec, const guildhall_avro_node *node, VALUE *object, uint32_t depth,
                                  guildhall_avro_search *search);

const char *guildhall_avro_type_name(const guildhall_avro_node *node);

void guildhall_init_avro_fit(void);

#endif

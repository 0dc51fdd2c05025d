/* Hashes of one kind have the same keys in the same order. To fill one key by key means to hash each key's bytes again;
 * a copy of a template, which has the keys, only needs its values: that takes a fifth of the time.
 *
 * One table a Ractor. Needs the GVL; runs no Ruby code but what objects of other classes, as keys, have for `hash`.
 */
#ifndef GUILDHALL_VALUES_HASH_TEMPLATE_H
#define GUILDHALL_VALUES_HASH_TEMPLATE_H

#include <ruby.h>

#define GUILDHALL_HASH_TEMPLATES 256

typedef struct {
    uint64_t print; /* of the keys that came last */
    VALUE hash;     /* 0: they came once so far */
    long count;     /* of its pairs */
} guildhall_hash_template;

/* All zero at first. */
typedef struct {
    guildhall_hash_template templates[GUILDHALL_HASH_TEMPLATES];
} guildhall_hash_templates;

/* As guildhall_hash_new. */
VALUE guildhall_hash_from_template(guildhall_hash_templates *templates, long count, const VALUE *pairs);
/* The same, but not frozen. */
VALUE guildhall_open_hash_from_template(guildhall_hash_templates *templates, long count, const VALUE *pairs);
void guildhall_hash_templates_mark(const guildhall_hash_templates *templates);
/* Self-test (assumptions.c): whether copies of Hashes, small ones and large ones, can be filled past Ruby. Where it says no, or is not
 * asked, Hashes are filled key by key. */
int guildhall_hash_templates_hold(void);
void guildhall_distrust_hash_templates(void);

#endif

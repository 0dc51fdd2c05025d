/* JSON text from a tape. Needs the GVL. */
#ifndef GUILDHALL_JSON_REWRITE_H
#define GUILDHALL_JSON_REWRITE_H

#include <ruby.h>
#include "tape.h"

/* The text of the container at `index`, without what is not on the tape; its strings and numbers as they were written. */
VALUE guildhall_json_rewrite(guildhall_json_view view, uint32_t index);

#endif

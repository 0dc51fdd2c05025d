/* Memory for parsing that each native thread keeps. */
#include "memory/thread_memory.h"
#include "parse.h"

#define KEPT_NODES ((size_t)1 << 18) /* 2 MiB: texts of up to half a megabyte parse without an allocation */

void guildhall_json_scratch_free(guildhall_json_scratch *scratch)
{
    free(scratch->nodes);
    free(scratch->table);
    free(scratch->places);
    memset(scratch, 0, sizeof *scratch);
}

GUILDHALL_THREAD_MEMORY(guildhall_json_scratch, guildhall_json_scratch_current, guildhall_json_scratch_free)

void guildhall_json_scratch_trim(guildhall_json_scratch *scratch)
{
    if (scratch->capacity > KEPT_NODES || scratch->table_capacity > KEPT_NODES) guildhall_json_scratch_free(scratch);
}

/* To be preloaded: of the memory that guildhall's own code asks malloc for, every so many requests are refused; how many
 * the environment says (GUILDHALL_REFUSE_EVERY, 0 or none: nothing is refused), which Ruby can change at any time. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static uintptr_t from, to; /* of the extension's code */

static int look(struct dl_phdr_info *info, size_t size, void *unused)
{
    if (!strstr(info->dlpi_name, "guildhall/native.so")) return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X)) continue;
        from = info->dlpi_addr + segment->p_vaddr;
        to = from + segment->p_memsz;
    }
    return 1;
}

__attribute__((constructor)) static void begin(void) { unsetenv("GUILDHALL_REFUSE_EVERY"); }

static int refused(void *caller)
{
    static __thread uint32_t seed = 12345;
    static __thread int looking;
    const char *every = looking ? NULL : getenv("GUILDHALL_REFUSE_EVERY");
    if (!every || !atoi(every)) return 0;
    if (!to) {
        looking = 1;
        dl_iterate_phdr(look, NULL);
        looking = 0;
    }
    if ((uintptr_t)caller < from || (uintptr_t)caller >= to) return 0;
    seed = seed * 1103515245 + 12345;
    return (seed >> 16) % (uint32_t)atoi(every) == 0;
}

extern void *__libc_malloc(size_t), *__libc_realloc(void *, size_t), *__libc_calloc(size_t, size_t);

void *malloc(size_t size) { return refused(__builtin_return_address(0)) ? NULL : __libc_malloc(size); }
void *realloc(void *block, size_t size) { return refused(__builtin_return_address(0)) ? NULL : __libc_realloc(block, size); }
void *calloc(size_t count, size_t size) { return refused(__builtin_return_address(0)) ? NULL : __libc_calloc(count, size); }

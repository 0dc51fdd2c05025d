#define getentropy getentropy_is_in_sys_random
#define pipe2 macos_has_no_pipe2
#define gettid macos_has_no_gettid
#define syscall macos_has_no_such_syscall
#include_next <unistd.h>
#undef getentropy
#undef pipe2
#undef gettid
#undef syscall

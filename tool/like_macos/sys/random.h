#ifndef LIKE_MACOS_SYS_RANDOM_H
#define LIKE_MACOS_SYS_RANDOM_H
#include <stddef.h>
int getentropy(void *buffer, size_t size);
#endif

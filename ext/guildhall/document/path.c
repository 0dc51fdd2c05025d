/* Paths and excerpts for error messages. */
#include <stdio.h>
#include <string.h>
#include "path.h"

#define CUT "…"

static void document_path_add(guildhall_path *path, const char *text, size_t length)
{
    if (path->full) return;
    if (path->length + length + sizeof CUT > sizeof path->text) {
        memcpy(path->text + path->length, CUT, sizeof CUT);
        path->length += sizeof CUT - 1;
        path->full = 1;
        return;
    }
    memcpy(path->text + path->length, text, length);
    path->length += length;
    path->text[path->length] = '\0';
}

void guildhall_path_init(guildhall_path *path)
{
    path->length = 0;
    path->full = 0;
    document_path_add(path, "$", 1);
}

void guildhall_path_index(guildhall_path *path, int64_t index)
{
    char text[32];
    document_path_add(path, text, (size_t)snprintf(text, sizeof text, "[%lld]", (long long)index));
}

int guildhall_path_is_word(const uint8_t *key, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        uint8_t byte = key[i];
        int letter = (byte | 32) >= 'a' && (byte | 32) <= 'z', digit = byte >= '0' && byte <= '9' && i;
        if (!letter && !digit && byte != '_') return 0;
    }
    return length > 0;
}

size_t guildhall_printable(const uint8_t *bytes, size_t length, const char *special, char *out, size_t room)
{
    size_t used = 0;
    for (size_t i = 0; i < length; i++) {
        int plain = bytes[i] >= 0x20 && bytes[i] < 0x7f && !strchr(special, bytes[i]);
        size_t size = plain ? 1 : 4;
        if (used + size > room) break;
        if (plain) out[used] = (char)bytes[i];
        else memcpy(out + used, (char[]){'\\', 'x', "0123456789ABCDEF"[bytes[i] >> 4], "0123456789ABCDEF"[bytes[i] & 15]}, 4);
        used += size;
    }
    return used;
}

void guildhall_path_key(guildhall_path *path, const uint8_t *key, size_t length)
{
    if (guildhall_path_is_word(key, length)) {
        document_path_add(path, ".", 1);
        document_path_add(path, (const char *)key, length);
        return;
    }
    document_path_add(path, "['", 2);
    for (size_t i = 0; i < length && !path->full; i++) {
        char piece[4];
        document_path_add(path, piece, guildhall_printable(key + i, 1, "'\\", piece, sizeof piece));
    }
    document_path_add(path, "']", 2);
}

size_t guildhall_excerpt(const uint8_t *bytes, size_t length, size_t error_offset, char *out)
{
    size_t from = error_offset > 8 ? error_offset - 8 : 0;
    return from < length ? guildhall_printable(bytes + from, length - from, "'\\", out, GUILDHALL_EXCERPT_BYTES) : 0;
}

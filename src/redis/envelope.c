/* "t 9f86d081884c7d65 17\n", then the data: the kind ("t" for text, "b" for binary), the sender's
 * id, and the sender's message number. Readable, so that other programs can publish, too. */
#include "redis/envelope.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

size_t uvh_redis_envelope_write(char out[UVH_REDIS_ENVELOPE_MAX], uvhttp_websocket_kind_t kind,
                                const char id[UVH_REDIS_ID], uint64_t number)
{
    char text[UVH_REDIS_ENVELOPE_MAX + 1];
    int size = snprintf(text, sizeof(text), "%c %.*s %" PRIu64 "\n",
                        kind == UVHTTP_WEBSOCKET_TEXT ? 't' : 'b', UVH_REDIS_ID, id, number);
    memcpy(out, text, (size_t)size);
    return (size_t)size;
}

/* A decimal number from `at` to `end`. */
static bool read_number(const char *at, const char *end, uint64_t *number)
{
    *number = 0;
    if (at == end || end - at > 19)
        return false;
    for (; at < end; at++) {
        if (*at < '0' || *at > '9')
            return false;
        *number = *number * 10 + (uint64_t)(*at - '0');
    }
    return true;
}

bool uvh_redis_envelope_read(const char *bytes, size_t size, struct uvh_redis_envelope *envelope)
{
    const char *end =
        memchr(bytes, '\n', size < UVH_REDIS_ENVELOPE_MAX ? size : UVH_REDIS_ENVELOPE_MAX);
    if (end == NULL || end - bytes < 5 || bytes[1] != ' ' || (bytes[0] != 't' && bytes[0] != 'b'))
        return false;
    const char *id = bytes + 2;
    const char *space = memchr(id, ' ', (size_t)(end - id));
    if (space == NULL || space == id || space - id > UVH_REDIS_ID)
        return false;
    envelope->kind = bytes[0] == 't' ? UVHTTP_WEBSOCKET_TEXT : UVHTTP_WEBSOCKET_BINARY;
    envelope->id = (uvhttp_slice_t){id, (size_t)(space - id)};
    envelope->data = (uvhttp_slice_t){end + 1, size - (size_t)(end + 1 - bytes)};
    return read_number(space + 1, end, &envelope->number);
}

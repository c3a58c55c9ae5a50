/* The header in front of the data of each message at the broker. */
#ifndef UVH_REDIS_ENVELOPE_H
#define UVH_REDIS_ENVELOPE_H

#include <stdbool.h>

#include <uvhttp/websocket.h>

enum {
    UVH_REDIS_ID = 16, /* characters that identify a process */
    UVH_REDIS_ENVELOPE_MAX = 2 + UVH_REDIS_ID + 1 + 20 + 1,
};

struct uvh_redis_envelope {
    uvhttp_websocket_kind_t kind;
    uvhttp_slice_t id;
    uint64_t number; /* sequence number, by sender */
    uvhttp_slice_t data;
};

/* Writes the header before the data; returns its size. */
size_t uvh_redis_envelope_write(char out[UVH_REDIS_ENVELOPE_MAX], uvhttp_websocket_kind_t kind,
                                const char id[UVH_REDIS_ID], uint64_t number);
/* False when the bytes have no valid header. */
bool uvh_redis_envelope_read(const char *bytes, size_t size, struct uvh_redis_envelope *envelope);

#endif

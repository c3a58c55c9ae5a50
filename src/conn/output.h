/* The output queue of a connection: bytes collected in one buffer, then entries of memory or files
 * that are sent without a copy.
 *
 * Small writes are collected and sent together at the end of the outermost event. Larger ones are
 * sent at once, in the same system call as the bytes collected before them. One function sends
 * (uvh_output_flush). What the socket does not accept stays queued until the socket is writable. */
#ifndef UVH_CONN_OUTPUT_H
#define UVH_CONN_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uvhttp/types.h>

#include "platform/socket.h"

struct uvh_buffer;
struct uvh_conn;
struct uvh_pace;

enum {
    UVH_OUTPUT_COPIED = 4096, /* bytes; memory up to this size is copied, not referenced */
    UVH_OUTPUT_AREAS = UVH_SOCKET_MAX_AREAS - 1, /* of one write */
};

/* Memory, or a part of a file, that stays valid until it is sent. The caller owns the entry. */
struct uvh_output_entry {
    struct uvh_output_entry *next;
    const char *base; /* of memory */
    uint64_t offset;  /* in the file */
    uint64_t size;    /* bytes still to be sent, at least 1 while it is queued */
    int descriptor;   /* -1: memory */
};

/* Invariant: `buffer` holds the bytes [begin, end), which are sent before the entries. */
struct uvh_output {
    struct uvh_buffer *buffer; /* NULL when no bytes are collected */
    uint32_t begin;
    uint32_t end;
    struct uvh_output_entry *entries;
    struct uvh_pace *pace; /* limits the rate of the entries; NULL: no limit */
};

/* Returns space for `size` bytes at the end of the collected ones: write there, then call
 * uvh_output_commit. NULL, with `*error`
 *   UVHTTP_ENOMEM with nothing changed, or
 *   UVHTTP_EDISCONNECTED when the connection broke, or was closed before. */
char *uvh_output_reserve(struct uvh_conn *conn, size_t size, int *error);
void uvh_output_commit(struct uvh_conn *conn, size_t size);

/* Sends areas of `size` bytes together. Small ones are collected. Of larger ones the socket takes
 * what it can now, and the rest is copied. Returns 0, or
 *   UVHTTP_ENOMEM with nothing taken,
 *   UVHTTP_EDISCONNECTED when the connection broke. */
int uvh_output_write(struct uvh_conn *conn, const uvhttp_slice_t *areas, size_t count, size_t size);

/* Queues a list of entries and sends what the socket accepts now. No other entries may be queued.
 * `pace` may be NULL. Returns 0, or
 *   UVHTTP_EDISCONNECTED when the connection broke. */
int uvh_output_queue(struct uvh_conn *conn, struct uvh_output_entry *entries,
                     struct uvh_pace *pace);

/* Called at the end of an event, and by the functions above. Sends queued output until the socket
 * is full, the rate is reached, or other connections must run. Calls the user's `sent` when the
 * queue has become empty. Returns 0, or
 *   UVHTTP_EDISCONNECTED when the connection broke (and is closed). */
int uvh_output_flush(struct uvh_conn *conn);

/* Collected bytes that are pending, without entries. */
static inline size_t uvh_output_collected(const struct uvh_output *out)
{
    return out->end - out->begin;
}

static inline bool uvh_output_is_empty(const struct uvh_output *out)
{
    return out->buffer == NULL && out->entries == NULL;
}

/* Removes the first `count` collected bytes, which were sent by other means. Returns by how much
 * `count` exceeds them. */
size_t uvh_output_skip(struct uvh_conn *conn, size_t count);

/* Bytes of the entries that are not sent yet. */
uint64_t uvh_output_referenced(const struct uvh_output *out);

/* True when only the rate limit delays the entries. */
bool uvh_output_is_paced(const struct uvh_conn *conn);

/* For a full socket: moves a few bytes to a buffer of fitting size, so that thousands of stalled
 * clients do not hold a whole buffer each. */
void uvh_output_shrink(struct uvh_conn *conn);

/* The connection is closed. */
void uvh_output_release(struct uvh_conn *conn);

#endif

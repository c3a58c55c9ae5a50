/* Writes the body of a request to files: the loop copies chunks into blocks, a job in the heavy
 * lane writes them, and reading pauses at UVH_SPOOL_MOST_SIZE queued bytes until half of them are
 * written.
 *
 * Invariants: a spool has at most one job at a time. The bytes of a file are written in order, and
 * files one after the other. When the exchange ends, a job removes what is neither published nor
 * moved by uvhttp_form_part_keep. All memory belongs to the exchange. Functions run on the loop's
 * thread. */
#ifndef UVH_UPLOADS_SPOOL_H
#define UVH_UPLOADS_SPOOL_H

#include <uvhttp/response.h>

#include "platform/store.h"

enum {
    UVH_SPOOL_BLOCK_SIZE = 32768,
    UVH_SPOOL_JOB_SIZE = 4 * UVH_SPOOL_BLOCK_SIZE,  /* queued bytes that start a job */
    UVH_SPOOL_MOST_SIZE = 8 * UVH_SPOOL_BLOCK_SIZE, /* queued bytes at which reading pauses */
};

struct uvh_spool_block;

struct uvh_spool_blocks {
    struct uvh_spool_block *first;
    struct uvh_spool_block *last;
};

/* A file, or a part that may become one. Zeroed at first, except `target` and `keep`. */
struct uvh_spool_file {
    struct uvh_spool_file *next; /* in the list of those that go to the disk */
    const char *target;          /* the final name; NULL: the file stays hidden */
    bool keep;                   /* do not replace an existing file */
    bool created;                /* the name was free; set when the file is published */
    bool on_disk;                /* its bytes go to the disk; otherwise they stay in `held` */
    uint64_t size;
    struct uvh_spool_blocks held;
    char name[UVH_STORE_NAME_SIZE]; /* the hidden name while such a file exists, else "" */
};

struct uvh_spool {
    uvhttp_request_t *request;
    uvhttp_response_t *response;
    const char *directory;
    unsigned mode;
    bool sync;
    bool create_directory; /* if it is absent */
    /* Called at most once, on the loop: 0 when everything is written, else the error; not after the
     * response was sent or the client has disconnected. Returns the result of a handler. */
    int (*written_cb)(struct uvh_spool *spool, int err);
    /* Called in the job with the data just written, in order. May be NULL. */
    void (*wrote)(struct uvh_spool *spool, const uvhttp_slice_t *slices, size_t count);

    /* Called in the job when a file is complete, before it gets its name: 0, or an error. May be
     * NULL. */
    int (*complete)(struct uvh_spool *spool, struct uvh_spool_file *file);

    /* The following fields are private to the spool, except `store`. */
    /* Owned by the job while one runs. The caller may open it between uvh_spool_begin and the first
     * job, instead of by the path `directory`. */
    struct uvh_store store;
    struct uvh_spool_file *files;
    struct uvh_spool_blocks waiting;
    struct uvh_spool_blocks writing; /* owned by the job */
    struct uvh_spool_block *spare;
    size_t waiting_size; /* bytes; the last block of a file counts as full */
    size_t writing_size;
    int error;
    bool busy;   /* a job runs */
    bool ended;  /* no more data follows: queued data is written, however little */
    bool last;   /* the job is the last one */
    bool paused; /* the spool has paused the body */
};

/* Requires the fields up to `written_cb`, and `wrote` and `complete` if wanted; the others must be
 * zero. From now on the end of the exchange removes leftover files. Returns 0, UVHTTP_ENOMEM, or
 * UVHTTP_EINVAL when the exchange has a spool already. */
int uvh_spool_begin(struct uvh_spool *spool);

/* Copies bytes of a file. Returns 0, UVHTTP_ENOMEM, or an error of starting a job. */
int uvh_spool_put(struct uvh_spool *spool, struct uvh_spool_file *file, const char *data,
                  size_t size);

/* Moves the held bytes of the file to the disk; later bytes follow them. */
int uvh_spool_to_disk(struct uvh_spool *spool, struct uvh_spool_file *file);

/* The file is complete. A job closes and publishes it if it is on the disk. */
int uvh_spool_end_file(struct uvh_spool *spool, struct uvh_spool_file *file);

/* The held bytes in one buffer with a terminating NUL, in the exchange's memory; NULL when out of
 * memory. */
char *uvh_spool_collect(struct uvh_spool *spool, struct uvh_spool_file *file);

/* All files are complete: writes the queued data, then calls `written_cb`; at once if nothing is
 * queued and no job runs. Returns its result if it was called, else 0 or an error. */
int uvh_spool_end(struct uvh_spool *spool);

/* Sends the response to an error of a file: 507, 403, 409, 400, 503 or 500, and logs a line.
 * Returns 0, or an error of sending. */
int uvh_spool_respond_error(struct uvh_spool *spool, int err);

/* Sends a response with the status and the reason. */
int uvh_spool_refuse(uvhttp_response_t *response, int status, const char *reason);

/* The body's Content-Length is larger than `limit`; false without Content-Length. */
bool uvh_spool_exceeds(uvhttp_request_t *request, uint64_t limit);

#endif

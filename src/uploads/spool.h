/* The body of a request on its way to files: pieces are copied into blocks, a job in the heavy lane
 * writes them, and the client is held back while more than a bounded amount waits. Called by
 * upload.c, form_data.c and static_upload.c.
 *
 * Always true: one job at a time for one spool; bytes of a file reach it in order, and files are
 * written one behind the other; what was not published or taken when the exchange ends is removed
 * by a job, too. All of it lives in the exchange. Functions run on the loop's thread. */
#ifndef UVH_UPLOADS_SPOOL_H
#define UVH_UPLOADS_SPOOL_H

#include <uvhttp/response.h>

#include "platform/store.h"

enum {
    UVH_SPOOL_BLOCK_SIZE = 32768,
    UVH_SPOOL_JOB_SIZE = 4 * UVH_SPOOL_BLOCK_SIZE, /* bytes that are worth a job */
    /* bytes that may wait; from then on nothing is read */
    UVH_SPOOL_MOST_SIZE = 8 * UVH_SPOOL_BLOCK_SIZE,
};

struct uvh_spool_block;

struct uvh_spool_blocks {
    struct uvh_spool_block *first;
    struct uvh_spool_block *last;
};

/* One file, or what may become one. Zeroed at first, but for `target` and `keep`. */
struct uvh_spool_file {
    struct uvh_spool_file *next; /* of those that go to the disk */
    const char *target;          /* the name to be given at the end; NULL: it stays hidden */
    bool keep;                   /* what has that name already */
    bool created;                /* nothing had it; known when it is published */
    bool on_disk;                /* its bytes go there, the others stay in `held` */
    uint64_t size;
    struct uvh_spool_blocks held;
    char name[UVH_STORE_NAME_SIZE]; /* the hidden name while there is a file that has it, else "" */
};

struct uvh_spool {
    uvhttp_request_t *request;
    uvhttp_response_t *response;
    const char *folder;
    unsigned mode;
    bool sync;
    /* Told once on the loop: 0 when everything is written, or why not. The result is that of a
     * handler. */
    int (*told)(struct uvh_spool *spool, int err);
    /* Shown in the job what has been written behind what was before. NULL: nobody wants to see
     * it. */
    void (*wrote)(struct uvh_spool *spool, const uvhttp_slice_t *pieces, size_t count);

    /* The rest is the spool's. */
    struct uvh_store
        /* the job's, while one runs. May be opened before the first job, instead of by the path
         * `folder` */
        store;
    struct uvh_spool_file *files;
    struct uvh_spool_blocks waiting;
    struct uvh_spool_blocks writing; /* the job's */
    struct uvh_spool_block *spare;
    size_t waiting_size; /* of blocks: those with the end of a file count as full */
    size_t writing_size;
    int error;
    bool busy;   /* a job runs */
    bool ended;  /* nothing more comes: what waits is written, however little it is */
    bool last;   /* the job is the last one */
    bool paused; /* the body is, by us */
};

/* All up to `told` is set, the rest zero. From now on the exchange's end removes what is left.
 * UVHTTP_ENOMEM; UVHTTP_EINVAL when the exchange has a spool already. */
int uvh_spool_begin(struct uvh_spool *spool);

/* Takes bytes of a file. UVHTTP_ENOMEM, or what starting a job gives. */
int uvh_spool_put(struct uvh_spool *spool, struct uvh_spool_file *file, const char *data,
                  size_t size);

/* What was held of it goes to the disk, and so does what follows. */
int uvh_spool_to_disk(struct uvh_spool *spool, struct uvh_spool_file *file);

/* The file is complete. One that is on the disk is closed and published by a job. */
int uvh_spool_end_file(struct uvh_spool *spool, struct uvh_spool_file *file);

/* The held bytes in one piece, with a NUL behind them, in the exchange's memory; NULL when memory
 * ran out. */
char *uvh_spool_collect(struct uvh_spool *spool, struct uvh_spool_file *file);

/* All files are complete: writes what is left, then calls `told`, at once when nothing is left.
 * What that returns, or an error. */
int uvh_spool_end(struct uvh_spool *spool);

/* Answers for an error of a file: 507, 403, 409, 400, 503 or 500, with a line in the log. 0, or
 * what sending gives. */
int uvh_spool_answer_error(struct uvh_spool *spool, int err);

/* Answers with the status and a reason behind it. */
int uvh_spool_refuse(uvhttp_response_t *response, int status, const char *reason);

/* The body's Content-Length is larger than `limit`; false when it has none. */
bool uvh_spool_exceeds(uvhttp_request_t *request, uint64_t limit);

#endif

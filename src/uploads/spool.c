/* Blocks circulate: the loop fills them, the job writes them, then they are spare. The memory of an
 * upload of any size is limited to the blocks queued at once. */
#include "uploads/spool.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <uvhttp/error.h>

enum { RESUME_SIZE = UVH_SPOOL_MOST_SIZE / 2 };

static const char key; /* identifies the spool in the exchange */

struct uvh_spool_block {
    struct uvh_spool_block *next;
    struct uvh_spool_file *file;
    size_t size;
    bool ends_file;
    char data[UVH_SPOOL_BLOCK_SIZE];
};

static void append(struct uvh_spool_blocks *list, struct uvh_spool_block *block)
{
    block->next = NULL;
    if (list->last != NULL)
        list->last->next = block;
    else
        list->first = block;
    list->last = block;
}

static void give_back(struct uvh_spool *spool, struct uvh_spool_blocks *list)
{
    if (list->first == NULL)
        return;
    list->last->next = spool->spare;
    spool->spare = list->first;
    *list = (struct uvh_spool_blocks){NULL, NULL};
}

/* Appends an empty block to the list; NULL when out of memory. */
static struct uvh_spool_block *add_block(struct uvh_spool *spool, struct uvh_spool_blocks *list,
                                         struct uvh_spool_file *file)
{
    struct uvh_spool_block *block = spool->spare;
    if (block != NULL)
        spool->spare = block->next;
    else if ((block = uvhttp_request_allocate(spool->request, sizeof(*block))) == NULL)
        return NULL;
    block->file = file;
    block->size = 0;
    block->ends_file = false;
    append(list, block);
    return block;
}

/* ---- in a job ---- */

/* Writes consecutive blocks of one file, beginning with `first`, as many as one write takes;
 * `*next` is the block following them. */
static int write_some(struct uvh_spool *spool, struct uvh_spool_block *first,
                      struct uvh_spool_block **next)
{
    struct uvh_spool_file *file = first->file;
    struct uvh_spool_block *last = first;
    uvhttp_slice_t slices[UVH_STORE_SLICES];
    size_t count = 0;
    int err = 0;
    for (struct uvh_spool_block *block = first;
         block != NULL && block->file == file && count < UVH_STORE_SLICES; block = block->next) {
        slices[count++] = (uvhttp_slice_t){block->data, block->size};
        last = block;
    }
    *next = last->next;
    if (spool->store.directory < 0)
        err = uvh_store_open(&spool->store, spool->directory, spool->create_directory);
    if (err == 0 && spool->store.descriptor < 0)
        err = uvh_store_begin(&spool->store, spool->mode, file->name);
    if (err == 0)
        err = uvh_store_write(&spool->store, slices, count);
    if (err == 0 && spool->wrote != NULL)
        spool->wrote(spool, slices, count);
    if (err != 0 || !last->ends_file)
        return err;
    err = uvh_store_end(&spool->store, spool->mode, spool->sync);
    if (err == 0 && spool->complete != NULL)
        err = spool->complete(spool, file);
    if (err != 0 || file->target == NULL)
        return err;
    err = uvh_store_publish(&spool->store, file->name, file->target, file->keep, spool->sync,
                            &file->created);
    if (err == 0)
        file->name[0] = '\0';
    return err;
}

static void write_blocks(void *arg)
{
    struct uvh_spool *spool = arg;
    struct uvh_spool_block *block = spool->writing.first;
    while (block != NULL && spool->error == 0)
        spool->error = write_some(spool, block, &block);
    if (!spool->last) /* the loop may be adding files */
        return;
    bool hidden = false;
    for (struct uvh_spool_file *file = spool->files; file != NULL; file = file->next)
        hidden = hidden || file->name[0] != '\0';
    if (!hidden) /* nothing is left to remove: the end of the exchange needs no job */
        uvh_store_close(&spool->store);
}

static void remove_files(void *arg)
{
    struct uvh_spool *spool = arg;
    for (struct uvh_spool_file *file = spool->files; file != NULL; file = file->next)
        uvh_store_remove(&spool->store, file->name);
    uvh_store_close(&spool->store);
}

/* ---- on the loop ---- */

/* The exchange ends. No job of the spool runs any more, since a job refs the exchange. */
static void release(void *data)
{
    struct uvh_spool *spool = data;
    if (spool->store.directory >= 0)
        uvhttp_response_clean_up(spool->response, remove_files, spool);
}

int uvh_spool_begin(struct uvh_spool *spool)
{
    uvh_store_init(&spool->store);
    if (uvhttp_request_attached(spool->request, &key) != NULL)
        return UVHTTP_EINVAL;
    return uvhttp_request_attach(spool->request, &key, spool, release);
}

static int job_done(uvhttp_response_t *response, void *arg);

/* Starts a job when enough is pending for one, or the rest. */
static int start_job(struct uvh_spool *spool)
{
    bool enough =
        spool->waiting_size >= UVH_SPOOL_JOB_SIZE || (spool->ended && spool->waiting.first != NULL);
    if (spool->busy || !enough)
        return 0;
    spool->writing = spool->waiting;
    spool->writing_size = spool->waiting_size;
    spool->waiting = (struct uvh_spool_blocks){NULL, NULL};
    spool->waiting_size = 0;
    spool->last = spool->ended;
    int err = uvhttp_response_defer_heavy(spool->response, write_blocks, job_done, spool);
    spool->busy = err == 0;
    return err;
}

static int job_done(uvhttp_response_t *response, void *arg)
{
    struct uvh_spool *spool = arg;
    spool->busy = false;
    give_back(spool, &spool->writing);
    spool->writing_size = 0;
    if (!uvhttp_response_open(response)) /* the client disconnected, or was refused meanwhile */
        return 0;
    int err = spool->error != 0 ? spool->error : start_job(spool);
    if (err != 0 || (spool->ended && !spool->busy))
        return spool->written_cb(spool, err);
    if (spool->paused && spool->waiting_size + spool->writing_size <= RESUME_SIZE) {
        spool->paused = false;
        /* last: this call may deliver more of the body before it returns */
        uvhttp_request_resume_body(spool->request);
    }
    return 0;
}

/* More data is queued for writing. */
static int go_on(struct uvh_spool *spool)
{
    int err = start_job(spool);
    if (!spool->paused && spool->waiting_size + spool->writing_size >= UVH_SPOOL_MOST_SIZE) {
        spool->paused = true;
        uvhttp_request_pause_body(spool->request);
    }
    return err;
}

int uvh_spool_put(struct uvh_spool *spool, struct uvh_spool_file *file, const char *data,
                  size_t size)
{
    struct uvh_spool_blocks *list = file->on_disk ? &spool->waiting : &file->held;
    file->size += size;
    if (file->on_disk)
        spool->waiting_size += size;
    while (size > 0) {
        struct uvh_spool_block *block = list->last;
        bool full = block == NULL || block->file != file || block->ends_file ||
                    block->size == sizeof(block->data);
        if (full && (block = add_block(spool, list, file)) == NULL)
            return UVHTTP_ENOMEM;
        size_t space = sizeof(block->data) - block->size;
        size_t part = size < space ? size : space;
        memcpy(block->data + block->size, data, part);
        block->size += part;
        data += part;
        size -= part;
    }
    return file->on_disk ? go_on(spool) : 0;
}

int uvh_spool_to_disk(struct uvh_spool *spool, struct uvh_spool_file *file)
{
    file->on_disk = true;
    file->next = spool->files;
    spool->files = file;
    if (file->held.first == NULL)
        return 0;
    if (spool->waiting.last != NULL)
        spool->waiting.last->next = file->held.first;
    else
        spool->waiting.first = file->held.first;
    spool->waiting.last = file->held.last;
    file->held = (struct uvh_spool_blocks){NULL, NULL};
    spool->waiting_size += (size_t)file->size;
    return go_on(spool);
}

int uvh_spool_end_file(struct uvh_spool *spool, struct uvh_spool_file *file)
{
    if (!file->on_disk)
        return 0;
    struct uvh_spool_block *block = spool->waiting.last;
    if (block == NULL || block->file != file)
        block = add_block(spool, &spool->waiting, file);
    if (block == NULL)
        return UVHTTP_ENOMEM;
    block->ends_file = true;
    /* The block takes no more data, so it counts as full: this also limits many small files. */
    spool->waiting_size += sizeof(block->data) - block->size;
    return 0;
}

char *uvh_spool_collect(struct uvh_spool *spool, struct uvh_spool_file *file)
{
    char *data = uvhttp_request_allocate(spool->request, (size_t)file->size + 1);
    size_t length = 0;
    for (struct uvh_spool_block *block = file->held.first; data != NULL && block != NULL;
         block = block->next) {
        memcpy(data + length, block->data, block->size);
        length += block->size;
    }
    if (data != NULL)
        data[length] = '\0';
    give_back(spool, &file->held);
    return data;
}

int uvh_spool_end(struct uvh_spool *spool)
{
    spool->ended = true;
    int err = start_job(spool);
    return err != 0 || spool->busy ? err : spool->written_cb(spool, 0);
}

/* ---- refusing ---- */

int uvh_spool_refuse(uvhttp_response_t *response, int status, const char *reason)
{
    if (status == 403)
        uvhttp_response_log(response, UVHTTP_LOG_DEBUG, "uploads: %s is denied: %s",
                            uvhttp_request_path(uvhttp_response_request(response)), reason);
    return uvhttp_response_send_error(response, status, "%s", reason);
}

int uvh_spool_respond_error(struct uvh_spool *spool, int err)
{
    int status = 500;
    const char *reason = "the body cannot be stored";
    switch (err) {
    case -ENOSPC:
    case -EDQUOT:
    case -EFBIG: /* a limit of the process or the file system */
        status = 507;
        reason = "insufficient storage for the body";
        break;
    case -EACCES:
    case -EPERM:
    case -EROFS:
        status = 403;
        reason = "storing files there is not permitted";
        break;
    case -EEXIST:
    case -EISDIR:
        status = 409;
        reason = "the name already exists";
        break;
    case -ENAMETOOLONG:
        status = 400;
        reason = "the name is too long";
        break;
    case UVHTTP_ENOMEM:
        status = 503;
        break;
    default:
        break;
    }
    uvhttp_response_log(
        spool->response, status == 409 || status == 400 ? UVHTTP_LOG_INFO : UVHTTP_LOG_ERROR,
        "%s: storing the body in %s failed: %s (%d)", uvhttp_request_path(spool->request),
        spool->directory, uvhttp_strerror(err), status);
    return uvh_spool_refuse(spool->response, status, reason);
}

bool uvh_spool_exceeds(uvhttp_request_t *request, uint64_t limit)
{
    uvhttp_slice_t text = uvhttp_request_field(request, UVHTTP_FIELD_CONTENT_LENGTH);
    uint64_t size = 0;
    for (size_t i = 0; i < text.length; i++) {
        /* the same number once more, after a comma */
        if (text.base[i] < '0' || text.base[i] > '9')
            break;
        size = size * 10 + (uint64_t)(text.base[i] - '0');
        if (size > limit)
            return true;
    }
    return false;
}

/* Two slices are swapped: the front one is copied to the response, the back one belongs to the job
 * while one runs. */
#include "files/pooled_body.h"

#include <string.h>

#include <uvhttp/error.h>

#include "base/alloc.h"

struct pooled_body {
    uvhttp_response_t *response;
    const uvhttp_allocator_t *allocator;
    struct uvh_pooled_source source;
    struct uvh_bytes front, back;
    size_t taken;  /* bytes of the front slice already copied */
    int result;    /* of the last call of the source */
    bool busy;     /* a job fills the back slice */
    bool ready;    /* the back slice is full */
    bool released; /* the response has ended; the running job is the last user */
    bool closed;   /* the source is closed */
};

static void destroy(void *arg)
{
    struct pooled_body *body = arg;
    if (!body->closed)
        body->source.close(body->source.arg);
    uvh_bytes_release(&body->front);
    uvh_bytes_release(&body->back);
    uvh_free(body->allocator, body);
}

/* Closing a source may take long, hence the job. Without a source the client's next request need
 * not wait for one. */
static void dispose(struct pooled_body *body)
{
    if (body->closed)
        destroy(body);
    else
        uvhttp_response_clean_up(body->response, destroy, body);
}

static void release(void *arg)
{
    struct pooled_body *body = arg;
    body->released = true;
    if (!body->busy)
        dispose(body);
}

static void run(void *arg)
{
    struct pooled_body *body = arg;
    body->back.length = 0;
    body->result = body->source.make(body->source.arg, &body->back);
    body->closed = body->result != 0;
    if (body->closed)
        body->source.close(body->source.arg);
}

static int finish(uvhttp_response_t *response, void *arg)
{
    struct pooled_body *body = arg;
    body->busy = false;
    if (body->released) {
        dispose(body);
        return 0;
    }
    body->ready = body->result >= 0;
    uvhttp_response_resume_pull(response);
    return 0;
}

static int start(struct pooled_body *body)
{
    int err = uvhttp_response_defer_heavy(body->response, run, finish, body);
    body->busy = err == 0;
    return err;
}

/* The front slice is used up. Returns 0 when there is another one, or no more at all; else an
 * error, or UVHTTP_AGAIN while it is being made. */
static int swap_buffers(struct pooled_body *body)
{
    if (body->busy)
        return UVHTTP_AGAIN;
    if (!body->ready && body->result < 0)
        return body->result;
    if (!body->ready && body->result == 0) {
        int err = start(body);
        return err != 0 ? err : UVHTTP_AGAIN;
    }
    struct uvh_bytes through = body->front;
    body->front = body->back;
    body->back = through;
    body->back.length = 0;
    body->taken = 0;
    body->ready = false;
    return body->result == 0 ? start(body) : 0;
}

static int pull(uvhttp_response_t *response, char *buffer, size_t size, size_t *length, void *arg)
{
    struct pooled_body *body = arg;
    (void)response;
    if (body->taken == body->front.length) {
        int err = swap_buffers(body);
        if (err != 0)
            return err;
    }
    size_t left = body->front.length - body->taken;
    *length = left < size ? left : size;
    if (*length > 0)
        memcpy(buffer, body->front.data + body->taken, *length);
    body->taken += *length;
    bool last = body->taken == body->front.length && !body->busy && !body->ready;
    return last && body->result > 0 ? UVHTTP_END : 0;
}

int uvh_pooled_body_send(uvhttp_response_t *response, const char *content_type,
                         struct uvh_bytes *first, bool complete,
                         const struct uvh_pooled_source *source)
{
    struct pooled_body *body = uvh_alloc(first->allocator, sizeof(*body));
    if (body == NULL) {
        uvh_bytes_release(first);
        uvhttp_response_clean_up(response, source->close, source->arg);
        return UVHTTP_ENOMEM;
    }
    *body = (struct pooled_body){.response = response,
                                 .allocator = first->allocator,
                                 .source = *source,
                                 .front = *first,
                                 .result = complete ? 1 : 0,
                                 .closed = complete};
    uvh_bytes_init(&body->back, first->allocator, first->maximum);
    if (complete)
        source->close(source->arg);
    if (complete)
        return uvhttp_response_send_borrowed(response, 200, content_type, body->front.data,
                                             body->front.length, release, body);
    return uvhttp_response_send_pulled(response, 200, content_type, UVHTTP_LENGTH_UNKNOWN, pull,
                                       release, body);
}

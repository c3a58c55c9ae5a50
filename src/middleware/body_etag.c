/* Entity tags for bodies in memory: uvhttp/body_etag.h. Runs when the response is sent, by
 * uvhttp_response_on_send. */
#include <uvhttp/body_etag.h>

#include <string.h>

#include <uvhttp/error.h>

#include "base/compiler.h"
#include "base/hash.h"
#include "base/slice.h"
#include "codec/fields/http_date.h"

enum {
    MAX_HASHED = 16 << 20, /* at most some milliseconds of the loop's time */
    HEX_SIZE = 2 * UVH_HASH_WIDE_SIZE,
    TAG_SIZE = HEX_SIZE + 3, /* quotes and NUL */
};

static bool is_evaluated(uvhttp_request_t *request, const uvhttp_response_t *response)
{
    uvhttp_method_t method = uvhttp_request_method(request);
    uvhttp_slice_t body = uvhttp_response_body(response);
    return uvhttp_response_status(response) == 200 && body.base != NULL &&
           (method == UVHTTP_METHOD_GET || method == UVHTTP_METHOD_HEAD);
}

/* A handler may omit the body for HEAD, so an empty body says nothing about the one of GET. */
static bool is_hashed(uvhttp_request_t *request, const uvhttp_response_t *response)
{
    uvhttp_slice_t body = uvhttp_response_body(response);
    return body.length <= MAX_HASHED &&
           (body.length > 0 || uvhttp_request_method(request) == UVHTTP_METHOD_GET) &&
           !uvhttp_response_header_lists(response, "Cache-Control", "no-store");
}

static void write_tag(uvhttp_slice_t body, char tag[TAG_SIZE])
{
    static const char digits[] = "0123456789abcdef";
    unsigned char hash[UVH_HASH_WIDE_SIZE];
    uvh_hash_wide(body.base, body.length, hash);
    char *out = tag;
    *out++ = '"';
    for (size_t i = 0; i < sizeof(hash); i++) {
        *out++ = digits[hash[i] >> 4];
        *out++ = digits[hash[i] & 15];
    }
    *out++ = '"';
    *out = '\0';
}

/* Removes the fields about the body, which a 304 need not repeat (RFC 9110 section 15.4.5) and a
 * 412 does not have. */
static void remove_metadata(uvhttp_response_t *response)
{
    static const char *const names[] = {"Content-Type", "Content-Encoding", "Content-Language",
                                        "Last-Modified"};
    for (size_t i = 0; i < UVH_COUNT_OF(names); i++)
        uvhttp_response_remove_header(response, names[i]);
}

static int become(uvhttp_response_t *response, int status)
{
    int err = uvhttp_response_replace_body(response, "", 0);
    if (err != 0)
        return err;
    remove_metadata(response);
    return uvhttp_response_set_status(response, status);
}

/* The tag that the handler has set, NUL-terminated; NULL when out of memory. */
static const char *own_tag(uvhttp_request_t *request, uvhttp_slice_t tag)
{
    char *copy = uvhttp_request_allocate(request, tag.length + 1);
    if (copy == NULL)
        return NULL;
    memcpy(copy, tag.base, tag.length);
    copy[tag.length] = '\0';
    return copy;
}

static int on_send(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    char hashed[TAG_SIZE];
    uvhttp_validators_t current = {.etag = hashed};
    (void)arg;
    if (!is_evaluated(request, response))
        return 0;
    uvhttp_slice_t own = uvhttp_response_header_slice(response, "ETag");
    if (own.base != NULL) {
        uvhttp_slice_t modified = uvhttp_response_header_slice(response, "Last-Modified");
        current.etag = own_tag(request, own);
        if (current.etag == NULL)
            return UVHTTP_ENOMEM;
        if (modified.base == NULL || !uvh_http_date_parse(modified, &current.modified))
            current.modified = 0;
    } else if (is_hashed(request, response)) {
        write_tag(uvhttp_response_body(response), hashed);
    } else {
        return 0;
    }
    int status = uvhttp_request_precondition(request, &current);
    if (status == UVHTTP_EINVAL) /* the handler's tag is malformed: no client's tag equals it */
        return 0;
    if (status < 0 || status == 412)
        return status < 0 ? status : become(response, 412);
    int err = own.base != NULL ? 0 : uvhttp_response_set_header(response, "ETag", hashed);
    return err == 0 && status == 304 ? become(response, 304) : err;
}

int uvhttp_body_etag_handle_request(uvhttp_request_t *request, uvhttp_response_t *response,
                                    void *arg)
{
    (void)request;
    int err = uvhttp_response_on_send(response, on_send, arg);
    return err != 0 ? err : UVHTTP_DECLINED;
}

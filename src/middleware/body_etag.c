/* Entity tags for bodies in memory: uvhttp/body_etag.h. Runs when the response is sent, by
 * uvhttp_response_on_send. */
#include <uvhttp/body_etag.h>

#include <uvhttp/error.h>

#include "base/compiler.h"
#include "base/hash.h"
#include "base/slice.h"
#include "codec/fields/conditional.h"
#include "codec/fields/field.h"
#include "options/field_lines.h"

enum {
    MAX_HASHED = 16 << 20, /* at most some milliseconds of the loop's time */
    HEX_SIZE = 2 * UVH_HASH_WIDE_SIZE,
    TAG_SIZE = HEX_SIZE + 3, /* quotes and NUL */
};

static bool is_tagged(uvhttp_request_t *request, const uvhttp_response_t *response)
{
    uvhttp_method_t method = uvhttp_request_method(request);
    uvhttp_slice_t body = uvhttp_response_body(response);
    if (uvhttp_response_status(response) != 200 || body.base == NULL || body.length > MAX_HASHED)
        return false;
    /* A handler may omit the body for HEAD, so an empty body says nothing about the one of GET. */
    if (method != UVHTTP_METHOD_GET && (method != UVHTTP_METHOD_HEAD || body.length == 0))
        return false;
    if (uvhttp_response_header_slice(response, "ETag").base != NULL)
        return false;
    return !uvhttp_response_header_lists(response, "Cache-Control", "no-store");
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

static int evaluate(uvhttp_request_t *request, const char *tag,
                    enum uvh_conditional_outcome *outcome)
{
    struct uvh_conditional_fields fields = {
        .if_match = uvhttp_request_field(request, UVHTTP_FIELD_IF_MATCH),
        .if_none_match = uvhttp_request_field(request, UVHTTP_FIELD_IF_NONE_MATCH),
    };
    const struct uvh_conditional_entity entity = {.etag = uvh_slice(tag), .exists = true};
    int err = uvh_field_lines_join_conditions(request, &fields);
    if (err == 0)
        *outcome = uvh_conditional_evaluate(&fields, &entity, true);
    return err;
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

static int on_send(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    char tag[TAG_SIZE];
    (void)arg;
    if (!is_tagged(request, response))
        return 0;
    write_tag(uvhttp_response_body(response), tag);
    enum uvh_conditional_outcome outcome;
    int err = evaluate(request, tag, &outcome);
    if (err != 0)
        return err;
    if (outcome == UVH_CONDITIONAL_FAILED)
        return become(response, 412);
    err = uvhttp_response_set_header(response, "ETag", tag);
    if (err == 0 && outcome == UVH_CONDITIONAL_NOT_MODIFIED)
        err = become(response, 304);
    return err;
}

int uvhttp_body_etag_handle_request(uvhttp_request_t *request, uvhttp_response_t *response,
                                    void *arg)
{
    (void)request;
    int err = uvhttp_response_on_send(response, on_send, arg);
    return err != 0 ? err : UVHTTP_DECLINED;
}

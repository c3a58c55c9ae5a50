/* Security headers, on public functions only: uvhttp/security_headers.h. The values are chosen
 * once; fields that the handler has not set are added after it. */
#include <uvhttp/security_headers.h>

#include <string.h>

#include <uvhttp/embedding.h>
#include <uvhttp/error.h>

#include "base/compiler.h"
#include "base/slice.h"
#include "codec/fields/field.h"
#include "options/error.h"
#include "options/owned.h"
#include "options/use.h"

/* A field, the offset of its value in the configuration, and its default (NULL: not sent). */
struct field {
    const char *name;
    const char *key; /* its name in the configuration */
    size_t offset;
    const char *standard;
};

#define FIELD(name, member, standard)                                                \
    {                                                                                \
        name, #member, offsetof(uvhttp_security_headers_options_t, member), standard \
    }
static const struct field fields[] = {
    FIELD("Content-Security-Policy", content_security_policy,
          "default-src 'self'; base-uri 'self'; form-action 'self'; frame-ancestors 'self'; "
          "object-src 'none'"),
    FIELD("X-Content-Type-Options", content_type_options, "nosniff"),
    FIELD("X-Frame-Options", frame_options, "SAMEORIGIN"),
    FIELD("Referrer-Policy", referrer_policy, "strict-origin-when-cross-origin"),
    FIELD("Permissions-Policy", permissions_policy, "camera=(), geolocation=(), microphone=()"),
    FIELD("Cross-Origin-Opener-Policy", cross_origin_opener_policy, "same-origin"),
    FIELD("Cross-Origin-Resource-Policy", cross_origin_resource_policy, "same-origin"),
    FIELD("Cross-Origin-Embedder-Policy", cross_origin_embedder_policy, NULL),
    /* The last one: not sent over plain HTTP. */
    FIELD("Strict-Transport-Security", strict_transport_security, "max-age=31536000"),
};
#undef FIELD

enum { TRANSPORT_SECURITY = UVH_COUNT_OF(fields) - 1 };

struct uvhttp_security_headers {
    struct uvh_owned owned;
    bool https;
    const char *values[UVH_COUNT_OF(fields)]; /* NULL: not sent */
};

static int add_missing(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    const struct uvhttp_security_headers *headers = arg;
    bool https = headers->https || strcmp(uvhttp_request_scheme(request), "https") == 0;
    int err = 0;
    for (size_t i = 0; err == 0 && i < UVH_COUNT_OF(fields); i++) {
        if (i == TRANSPORT_SECURITY && !https)
            continue;
        if (headers->values[i] != NULL &&
            uvhttp_response_header_slice(response, fields[i].name).base == NULL)
            err = uvhttp_response_add_header(response, fields[i].name, headers->values[i]);
    }
    return err;
}

/* Sets the value of one field, copied if it comes from the user. */
static int choose(struct uvhttp_security_headers *headers, size_t index,
                  const uvhttp_security_headers_options_t *options, uvhttp_error_t *error)
{
    const struct field *field = &fields[index];
    const char *given;
    memcpy(&given, (const char *)options + field->offset, sizeof(given));
    headers->values[index] = field->standard;
    if (given == NULL)
        return 0;
    uvhttp_slice_t text = uvh_slice(given);
    if (!uvh_field_value_valid(text))
        return uvh_error_string(error, field->key, given, "control characters are not allowed");
    headers->values[index] =
        text.length == 0 ? NULL : uvh_owned_string(&headers->owned, given, text.length);
    return text.length > 0 && headers->values[index] == NULL ? UVHTTP_ENOMEM : 0;
}

static int create(uvhttp_security_headers_t **headers,
                  const uvhttp_security_headers_options_t *options, uvhttp_error_t *error)
{
    static const uvhttp_security_headers_options_t defaults = {0};
    if (headers == NULL)
        return UVHTTP_EINVAL;
    *headers = NULL;
    if (options == NULL)
        options = &defaults;
    struct uvhttp_security_headers *made = uvh_owned_new(options->allocator, sizeof(*made));
    int err = made == NULL ? UVHTTP_ENOMEM : 0;
    if (made != NULL)
        made->https = options->https;
    for (size_t i = 0; err == 0 && i < UVH_COUNT_OF(fields); i++)
        err = choose(made, i, options, error);
    if (err != 0) {
        uvhttp_security_headers_free(made);
        return err;
    }
    *headers = made;
    return 0;
}

int uvhttp_security_headers_new(uvhttp_security_headers_t **headers,
                                const uvhttp_security_headers_options_t *options,
                                uvhttp_error_t *error)
{
    uvh_error_clear(error);
    return uvh_error_end(error, create(headers, options, error));
}

void uvhttp_security_headers_free(void *headers)
{
    uvh_owned_free(headers);
}

int uvhttp_security_headers_handle_request(uvhttp_request_t *request, uvhttp_response_t *response,
                                           void *headers)
{
    (void)request;
    if (headers == NULL)
        return UVHTTP_EINVAL;
    int err = uvhttp_response_on_send(response, add_missing, headers);
    return err != 0 ? err : UVHTTP_DECLINED;
}

UVH_USE_FUNCTION(security_headers)

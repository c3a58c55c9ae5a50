/* See body_digest.h. */
#include "uploads/body_digest.h"

#include <errno.h>
#include <string.h>

#include <uvhttp/error.h>

#include "base/compiler.h"
#include "codec/fields/field.h"
#include "platform/digest.h"
#include "uploads/spool.h"

static const uvhttp_slice_t names[] = {{"content-digest", 14}, {"repr-digest", 11}};

static bool is_digest(uvhttp_slice_t name)
{
    return uvh_field_name_equal(name, names[0]) || uvh_field_name_equal(name, names[1]);
}

/* False when a digest is malformed. Their algorithms in a trailer section are not known before. */
static bool read_fields(uvhttp_request_t *request, struct uvh_body_digest *digest)
{
    uvhttp_slice_t name, value;
    for (size_t i = 0; i < uvhttp_request_header_count(request); i++) {
        uvhttp_request_header_at(request, i, &name, &value);
        if (is_digest(name) && !uvh_digest_field_read(&digest->expected, value))
            return false;
        if (uvh_field_name_is(name, (uvhttp_slice_t){"trailer", 7}))
            digest->announced = digest->announced || uvh_field_list_has(value, names[0]) ||
                                uvh_field_list_has(value, names[1]);
    }
    return true;
}

int uvh_body_digest_begin(struct uvh_body_digest *digest, uvhttp_request_t *request, bool wanted)
{
    *digest = (struct uvh_body_digest){.sums = {NULL}};
    if (!read_fields(request, digest))
        return UVHTTP_EINVAL;
    for (size_t i = 0; i < UVH_DIGEST_ALGORITHMS; i++) {
        if (!digest->expected.present[i] && !(wanted && i == UVH_DIGEST_SHA_256) &&
            !digest->announced)
            continue;
        if (!uvh_digest_available())
            return -ENOTSUP;
        digest->sums[i] = uvh_digest_new(uvh_digest_field_size((enum uvh_digest_algorithm)i));
        if (digest->sums[i] == NULL)
            return UVHTTP_ENOMEM;
    }
    return 0;
}

int uvh_body_digest_read_trailers(struct uvh_body_digest *digest, uvhttp_request_t *request)
{
    size_t count = digest->announced ? uvhttp_request_trailer_count(request) : 0;
    uvhttp_slice_t name, value;
    for (size_t i = 0; i < count; i++) {
        uvhttp_request_trailer_at(request, i, &name, &value);
        if (is_digest(name) && !uvh_digest_field_read(&digest->expected, value))
            return UVHTTP_EINVAL;
    }
    return 0;
}

bool uvh_body_digest_is_needed(const struct uvh_body_digest *digest)
{
    bool needed = false;
    for (size_t i = 0; i < UVH_DIGEST_ALGORITHMS; i++)
        needed = needed || digest->sums[i] != NULL;
    return needed;
}

void uvh_body_digest_add(struct uvh_body_digest *digest, const uvhttp_slice_t *slices, size_t count)
{
    for (size_t i = 0; i < UVH_DIGEST_ALGORITHMS; i++) {
        for (size_t k = 0; digest->sums[i] != NULL && k < count; k++)
            uvh_digest_add(digest->sums[i], slices[k]);
    }
}

bool uvh_body_digest_end(struct uvh_body_digest *digest)
{
    bool good = !digest->expected.conflict;
    for (size_t i = 0; i < UVH_DIGEST_ALGORITHMS; i++) {
        unsigned char value[UVH_DIGEST_MAX_SIZE];
        size_t size = uvh_digest_field_size((enum uvh_digest_algorithm)i);
        if (digest->sums[i] == NULL)
            continue;
        if (!uvh_digest_end(digest->sums[i], value))
            return false;
        if (i == UVH_DIGEST_SHA_256)
            memcpy(digest->sha_256, value, sizeof(digest->sha_256));
        good = good && (!digest->expected.present[i] ||
                        memcmp(value, digest->expected.value[i], size) == 0);
    }
    return good;
}

void uvh_body_digest_release(struct uvh_body_digest *digest)
{
    for (size_t i = 0; i < UVH_DIGEST_ALGORITHMS; i++)
        uvh_digest_free(digest->sums[i]);
}

int uvh_body_digest_refuse(uvhttp_response_t *response, int err)
{
    if (err == UVHTTP_EINVAL)
        return uvh_spool_refuse(response, 400,
                                "Content-Digest or Repr-Digest is malformed; the form is "
                                "sha-256=:BASE64: or sha-512=:BASE64:");
    return err == -ENOTSUP ? uvh_spool_refuse(response, 501, "this server does not support digests")
                           : err;
}

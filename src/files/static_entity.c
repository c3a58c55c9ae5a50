/* Evaluates conditions first, in the order of RFC 9110 section 13.2.2, then ranges. A plain GET
 * skips both after five checks of the request. */
#include "files/static_entity.h"

#include <uvhttp/embedding.h>
#include <uvhttp/error.h>

#include "base/compiler.h"
#include "codec/fields/conditional.h"
#include "codec/fields/range.h"
#include "files/byte_ranges.h"
#include "files/file_cache.h"
#include "options/field_lines.h"

static void release_entry(void *entry)
{
    uvh_file_entry_unref(entry);
}

/* The next request opens the file again: after ESTALE, for example, the descriptor stays unusable
 * although the file looks unchanged. */
static void distrust_entry(int error, void *arg)
{
    struct uvh_file_entry *entry = arg;
    (void)error;
    entry->settled = false;
    entry->fresh_until = 0;
    entry->broken = true;
}

/* ---- Last-Modified, which is never later than Date (RFC 9110 section 8.8.2.1) ---- */

/* The value of Date, in seconds since 1970. For entries of a cache the clock is read once per
 * millisecond of the loop's clock. */
static int64_t read_date(uvhttp_response_t *response, const struct uvh_file_entry *entry)
{
    const uvhttp_server_t *server = uvhttp_request_server(uvhttp_response_request(response));
    struct uvh_file_cache *cache = entry->cache;
    uint64_t now = uvhttp_response_now(response);
    if (cache == NULL)
        return uvhttp_server_unix_ms(server) / 1000;
    if (cache->date_read != now) {
        cache->date_read = now;
        cache->date = uvhttp_server_unix_ms(server) / 1000;
    }
    return cache->date;
}

/* The fields to send: the entry's, or a copy when the clock was set back before their date. */
struct fields {
    const uvhttp_prepared_t *used;
    uvhttp_prepared_t *copy; /* NULL: none */
};

static int copy_with_date(struct fields *fields, const struct uvh_file_entry *entry,
                          const uvhttp_prepared_t *prepared, int64_t seconds)
{
    char date[UVH_HTTP_DATE_SIZE + 1];
    uvh_http_date_format(seconds, date);
    date[UVH_HTTP_DATE_SIZE] = '\0';
    fields->used = fields->copy = uvhttp_prepared_new(entry->allocator);
    if (fields->copy == NULL)
        return UVHTTP_ENOMEM;
    int err = uvhttp_prepared_add_all(fields->copy, prepared, "Last-Modified");
    if (err == 0)
        err = uvhttp_prepared_add(fields->copy, "Last-Modified", date);
    if (err != 0)
        uvhttp_prepared_free(fields->copy);
    return err;
}

/* Returns 0 or UVHTTP_ENOMEM; on error nothing needs a release. */
static UVH_ALWAYS_INLINE int choose_fields(struct fields *fields, uvhttp_response_t *response,
                                           const struct uvh_file_entry *entry,
                                           const uvhttp_prepared_t *prepared)
{
    int64_t date = read_date(response, entry);
    *fields = (struct fields){.used = prepared};
    return UVH_LIKELY(entry->modified <= date) ? 0 : copy_with_date(fields, entry, prepared, date);
}

/* Called after sending. A response that failed may be made again, and must not have the copy
 * then. */
static UVH_ALWAYS_INLINE int release_fields(struct fields *fields, uvhttp_response_t *response,
                                            int err)
{
    if (UVH_UNLIKELY(fields->copy != NULL)) {
        if (err != 0)
            uvhttp_response_use_prepared(response, NULL);
        uvhttp_prepared_free(fields->copy);
    }
    return err;
}

/* ---- sending ---- */

static int send_part(uvhttp_response_t *response, struct uvh_file_entry *entry, int status,
                     uint64_t offset, uint64_t size)
{
    struct fields fields;
    int err = choose_fields(&fields, response, entry, entry->fields);
    if (UVH_UNLIKELY(err != 0))
        return err;
    uvh_file_entry_ref(entry);
    uvhttp_response_use_prepared(response, fields.used);
    if (entry->descriptor < 0) {
        err = uvhttp_response_send_borrowed(response, status, NULL, entry->body + offset,
                                            (size_t)size, release_entry, entry);
    } else {
        uvhttp_response_on_read_error(response, distrust_entry, entry);
        err = uvhttp_response_send_descriptor(response, status, NULL, entry->descriptor, offset,
                                              size, release_entry, entry);
    }
    return release_fields(&fields, response, err);
}

static int send_unsatisfied(uvhttp_response_t *response, const struct uvh_file_entry *entry)
{
    char range[UVH_RANGE_CONTENT_RANGE_SIZE + 1];
    range[uvh_range_format_unsatisfied(range, entry->size)] = '\0';
    int err = uvhttp_response_set_header(response, "Content-Range", range);
    return err != 0 ? err : uvhttp_response_send_status(response, 416);
}

static int send_not_modified(uvhttp_response_t *response, const struct uvh_file_entry *entry)
{
    struct fields fields;
    int err = choose_fields(&fields, response, entry, entry->validators);
    if (err != 0)
        return err;
    uvhttp_response_use_prepared(response, fields.used);
    return release_fields(&fields, response, uvhttp_response_send(response, 304, NULL, NULL, 0));
}

static int send_range(uvhttp_response_t *response, struct uvh_file_entry *entry, uint64_t first,
                      uint64_t last)
{
    char range[UVH_RANGE_CONTENT_RANGE_SIZE + 1];
    range[uvh_range_format(range, first, last, entry->size)] = '\0';
    int err = uvhttp_response_set_header(response, "Content-Range", range);
    return err != 0 ? err : send_part(response, entry, 206, first, last - first + 1);
}

/* Sends the fields of a 200 except the type, which each part has (RFC 9110 section 15.3.7). */
static int send_parts(uvhttp_response_t *response, struct uvh_file_entry *entry,
                      const struct uvh_byte_ranges *body)
{
    struct fields dated;
    int err = choose_fields(&dated, response, entry, entry->fields);
    if (err != 0)
        return err;
    uvhttp_prepared_t *fields = uvhttp_prepared_new(entry->allocator);
    err = fields == NULL ? UVHTTP_ENOMEM
                         : uvhttp_prepared_add_all(fields, dated.used, "Content-Type");
    uvhttp_prepared_free(dated.copy);
    if (err == 0) {
        uvh_file_entry_ref(entry);
        uvhttp_response_use_prepared(response, fields);
        uvhttp_response_on_read_error(response, distrust_entry, entry);
        err = uvhttp_response_send_parts(response, 206, body->type, body->parts, body->count,
                                         release_entry, entry);
        if (err != 0) /* another response may follow, and `fields` is released */
            uvhttp_response_use_prepared(response, NULL);
    }
    uvhttp_prepared_free(fields);
    return err;
}

/* Ranges whose parts take more bytes than the file are not sent: the whole file is smaller, so no
 * client gets more from the server than the file (RFC 9110 section 17.15). */
static int send_ranges(uvhttp_request_t *request, uvhttp_response_t *response,
                       struct uvh_file_entry *entry, const struct uvh_range_set *set)
{
    struct uvh_byte_ranges body;
    if (set->count == 1)
        return send_range(response, entry, set->items[0].first, set->items[0].last);
    /* Parts of a coded file would each need a coding, which the multipart body does not have. */
    if (entry->coding != UVH_CODING_IDENTITY)
        return send_part(response, entry, 200, 0, entry->size);
    int err = uvh_byte_ranges_make(request, entry, set, &body);
    if (err != 0)
        return err;
    if (body.size > entry->size)
        return send_part(response, entry, 200, 0, entry->size);
    return send_parts(response, entry, &body);
}

/* Evaluates the request's Range for this entry: UVH_RANGE_NONE without a valid one. Any range of an
 * empty file gets the whole file, since clients that always send a range take 416 for an error; so
 * does one of a representation that may be encoded differently the next time. */
static int read_range(uvhttp_request_t *request, const struct uvh_file_entry *entry,
                      enum uvh_range_kind *kind, struct uvh_range_set *set)
{
    uvhttp_slice_t etag = {entry->etag, entry->etag_length};
    uvhttp_slice_t range = uvhttp_request_field(request, UVHTTP_FIELD_RANGE);
    uvhttp_slice_t if_range = uvhttp_request_field(request, UVHTTP_FIELD_IF_RANGE);
    *kind = UVH_RANGE_NONE;
    if (range.base == NULL || uvhttp_request_method(request) != UVHTTP_METHOD_GET ||
        entry->size == 0 || entry->etag[0] == 'W')
        return 0;
    int err = uvh_field_lines_join(request, UVHTTP_FIELD_RANGE, &range);
    if (err == 0)
        err = uvh_field_lines_join(request, UVHTTP_FIELD_IF_RANGE, &if_range);
    if (err != 0)
        return err;
    if (uvh_range_if_range_holds(if_range, etag, true, entry->modified,
                                 uvhttp_server_unix_ms(uvhttp_request_server(request)) / 1000))
        *kind = uvh_range_parse(range, entry->size, set);
    return 0;
}

bool uvh_static_entity_has_range(uvhttp_request_t *request, const struct uvh_file_entry *entry)
{
    enum uvh_range_kind kind;
    struct uvh_range_set set;
    return read_range(request, entry, &kind, &set) == 0 && kind != UVH_RANGE_NONE;
}

int uvh_static_entity_respond(uvhttp_request_t *request, uvhttp_response_t *response,
                              struct uvh_file_entry *entry)
{
    struct uvh_conditional_fields fields = {
        .if_match = uvhttp_request_field(request, UVHTTP_FIELD_IF_MATCH),
        .if_none_match = uvhttp_request_field(request, UVHTTP_FIELD_IF_NONE_MATCH),
        .if_modified_since = uvhttp_request_field(request, UVHTTP_FIELD_IF_MODIFIED_SINCE),
        .if_unmodified_since = uvhttp_request_field(request, UVHTTP_FIELD_IF_UNMODIFIED_SINCE),
    };
    uvhttp_slice_t range = uvhttp_request_field(request, UVHTTP_FIELD_RANGE);
    if (UVH_LIKELY(fields.if_match.base == NULL && fields.if_none_match.base == NULL &&
                   fields.if_modified_since.base == NULL &&
                   fields.if_unmodified_since.base == NULL && range.base == NULL))
        return send_part(response, entry, 200, 0, entry->size);

    uvhttp_method_t method = uvhttp_request_method(request);
    if (method != UVHTTP_METHOD_GET && method != UVHTTP_METHOD_HEAD)
        return send_part(response, entry, 200, 0, entry->size); /* it is not the target's file */
    int err = uvh_field_lines_join_conditions(request, &fields);
    if (err != 0)
        return err;
    const struct uvh_conditional_entity entity = {
        .etag = {entry->etag, entry->etag_length},
        .modified = entry->modified,
        .has_modified = true,
        .exists = true,
    };
    switch (uvh_conditional_evaluate(&fields, &entity, true)) {
    case UVH_CONDITIONAL_NOT_MODIFIED:
        return send_not_modified(response, entry);
    case UVH_CONDITIONAL_FAILED:
        return uvhttp_response_send_status(response, 412);
    case UVH_CONDITIONAL_PROCEED:
        break;
    }
    enum uvh_range_kind kind;
    struct uvh_range_set set;
    err = read_range(request, entry, &kind, &set);
    if (err != 0)
        return err;
    if (kind == UVH_RANGE_UNSATISFIABLE)
        return send_unsatisfied(response, entry);
    return kind == UVH_RANGE_SATISFIABLE ? send_ranges(request, response, entry, &set)
                                         : send_part(response, entry, 200, 0, entry->size);
}

int uvh_static_entity_respond_error(uvhttp_response_t *response, struct uvh_file_entry *entry,
                                    int status)
{
    uvh_file_entry_ref(entry);
    if (entry->descriptor < 0)
        return uvhttp_response_send_borrowed(response, status, entry->type, entry->body,
                                             (size_t)entry->size, release_entry, entry);
    uvhttp_response_on_read_error(response, distrust_entry, entry);
    return uvhttp_response_send_descriptor(response, status, entry->type, entry->descriptor, 0,
                                           entry->size, release_entry, entry);
}

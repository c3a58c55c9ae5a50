/* The first slice is made while reading the directory, so most listings are sent at once, with
 * their length. */
#include "files/static_listing.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <uvhttp/error.h>
#include <uvhttp/negotiate.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "codec/fields/conditional.h"
#include "files/archive_stream.h"
#include "files/dir_path.h"
#include "files/dir_style.h"
#include "files/page_policy.h"
#include "files/pooled_body.h"
#include "files/send_file.h"
#include "files/slice_encoder.h"
#include "middleware/accepted_coding.h"
#include "options/field_lines.h"

enum {
    /* The entries a listing is selected from, so that a request costs at most some tenths of a
     * second of a thread. */
    MOST_READ = 100000,
};

struct uvh_static_listing {
    const uvhttp_allocator_t *allocator;
    enum uvh_static_listing_kind kind;
    bool too_large; /* an archive would exceed the limit */
    bool complete;  /* `first` is all of it */
    struct uvh_bytes first;
    enum uvh_coding coding; /* of `first` and what follows */
    bool varies;            /* another Accept-Encoding may select another coding */
    struct uvh_slice_encoder encoder;
    char nonce[UVH_PAGE_POLICY_NONCE_SIZE];
    char *name; /* of an archive's directory */
    union {
        struct uvh_dir_listing page;
        struct uvh_archive_stream archive;
    } made;
};

static const char *const types[] = {
    [UVH_STATIC_LISTING_HTML] = "text/html; charset=utf-8",
    [UVH_STATIC_LISTING_JSON] = "application/json",
    [UVH_STATIC_LISTING_TEXT] = "text/plain; charset=utf-8",
    [UVH_STATIC_LISTING_TAR] = "application/x-tar",
    [UVH_STATIC_LISTING_ZIP] = "application/zip",
};

static bool is_archive(enum uvh_static_listing_kind kind)
{
    return kind == UVH_STATIC_LISTING_TAR || kind == UVH_STATIC_LISTING_ZIP;
}

/* ---- the requested format ---- */

/* The format the client accepts; the page when it accepts none (RFC 9110 section 12.4.1). */
static int negotiate(const struct uvh_static_settings *settings, uvhttp_request_t *request,
                     struct uvh_static_listing_query *query)
{
    static const char *const offers[] = {
        [UVH_STATIC_LISTING_HTML] = "text/html;charset=utf-8",
        [UVH_STATIC_LISTING_JSON] = "application/json",
        [UVH_STATIC_LISTING_TEXT] = "text/plain;charset=utf-8",
        [UVH_STATIC_LISTING_TAR] = "application/x-tar",
        [UVH_STATIC_LISTING_ZIP] = "application/zip",
    };
    uvhttp_slice_t accept = uvhttp_request_field(request, UVHTTP_FIELD_ACCEPT);
    int err = uvh_field_lines_join(request, UVHTTP_FIELD_ACCEPT, &accept);
    if (err != 0)
        return err;
    size_t count = settings->archive ? UVH_STATIC_LISTING_ZIP + 1 : UVH_STATIC_LISTING_TAR;
    ptrdiff_t best = uvhttp_negotiate_type(accept, offers, count);
    query->kind = best < 0 ? UVH_STATIC_LISTING_HTML : (enum uvh_static_listing_kind)best;
    return 0;
}

/* The index of `text` in a list of words, or -1. */
static int find_word(const char *text, const char *const *words, size_t count)
{
    for (size_t i = 0; text != NULL && i < count; i++) {
        if (strcmp(text, words[i]) == 0)
            return (int)i;
    }
    return -1;
}

int uvh_static_listing_read_query(const struct uvh_static_settings *settings,
                                  uvhttp_request_t *request, struct uvh_static_listing_query *query)
{
    static const char *const kinds[] = {
        [UVH_STATIC_LISTING_HTML] = "html", [UVH_STATIC_LISTING_JSON] = "json",
        [UVH_STATIC_LISTING_TEXT] = "text", [UVH_STATIC_LISTING_TAR] = "tar",
        [UVH_STATIC_LISTING_ZIP] = "zip",   [UVH_STATIC_LISTING_STYLE] = "css",
        [UVH_STATIC_LISTING_SCRIPT] = "js",
    };
    static const char *const sorts[] = {
        [UVH_DIR_SORT_NAME] = "name", [UVH_DIR_SORT_SIZE] = "size", [UVH_DIR_SORT_DATE] = "date"};
    static const char *const orders[] = {"asc", "desc"};
    *query = (struct uvh_static_listing_query){0};
    if (uvhttp_request_query_string(request).length > 0) {
        int kind = find_word(uvhttp_request_query(request, "format"), kinds, UVH_COUNT_OF(kinds));
        int sort = find_word(uvhttp_request_query(request, "sort"), sorts, UVH_COUNT_OF(sorts));
        query->descending = find_word(uvhttp_request_query(request, "order"), orders, 2) == 1;
        query->filter = uvhttp_request_query(request, "filter");
        if (query->filter != NULL && *query->filter == '\0')
            query->filter = NULL;
        query->sort = sort < 0 ? UVH_DIR_SORT_NAME : (enum uvh_dir_sort)sort;
        query->kind_given = kind >= 0;
        query->kind = kind < 0 ? UVH_STATIC_LISTING_HTML : (enum uvh_static_listing_kind)kind;
    }
    if (settings->compress)
        query->coding = uvh_accepted_coding(request, uvh_compress_codings(), NULL);
    return query->kind_given ? 0 : negotiate(settings, request, query);
}

/* ---- reading the directory ---- */

/* Compresses the first slice, unless it is the whole body and small. Returns 0 or UVHTTP_ENOMEM. */
static int encode_first(struct uvh_static_listing *listing,
                        const struct uvh_static_settings *settings, enum uvh_coding coding)
{
    struct uvh_slice_encoder *encoder = &listing->encoder;
    if (coding == UVH_CODING_IDENTITY ||
        (listing->complete && listing->first.length < settings->compress_min_size))
        return 0;
    int err = uvh_slice_encoder_open(encoder, listing->allocator, coding, settings->levels[coding],
                                     UVH_DIR_LISTING_SLICE_MAX);
    if (err != 0)
        return err;
    encoder->plain = listing->first;
    uvh_bytes_init(&listing->first, listing->allocator, UVH_DIR_LISTING_SLICE_MAX);
    err = uvh_slice_encoder_encode(encoder, listing->complete, &listing->first);
    if (err != 0 || listing->complete)
        uvh_slice_encoder_close(encoder);
    listing->coding = coding;
    return err;
}

static int open_page(struct uvh_static_listing *listing, const struct uvh_static_settings *settings,
                     const char *directory, const char *title,
                     const struct uvh_static_listing_query *query)
{
    struct uvh_dir_listing_options order = {
        .query = {.root = &settings->root,
                  .directory = directory,
                  .hidden = settings->hidden,
                  .hide = settings->hide,
                  .no_siblings = settings->precompressed,
                  .filter = query->filter,
                  .listed = directory[0] == '\0' ? settings->listed : NULL,
                  .most = settings->listing_max,
                  .read = MOST_READ,
                  .sort = query->sort,
                  .descending = query->descending},
        .title = title,
        .format = (enum uvh_dir_format)query->kind,
        .format_given = query->kind_given,
        .nonce = listing->nonce,
        .uploads = settings->uploads,
        .archive = settings->archive,
    };
    uvh_bytes_init(&listing->first, listing->allocator, UVH_DIR_LISTING_SLICE_MAX);
    int result = uvh_page_policy_make_nonce(listing->nonce);
    if (result == 0)
        result = uvh_dir_listing_open(&listing->made.page, listing->allocator, &order);
    if (result != 0)
        return result;
    result = uvh_dir_listing_make(&listing->made.page, &listing->first);
    listing->complete = result == 1;
    listing->varies = settings->compress;
    if (result >= 0)
        result = encode_first(listing, settings, query->coding);
    if (result < 0)
        uvh_dir_listing_close(&listing->made.page);
    return result < 0 ? result : 0;
}

/* The last part of the path: the name of the archive and of the directory in it. Returns 0 or
 * UVHTTP_ENOMEM. */
static int name_archive(struct uvh_static_listing *listing, const char *title)
{
    size_t length;
    const char *name = uvh_dir_path_name(&(struct uvh_dir_path){.title = title}, &length);
    listing->name = length == 0 ? uvh_alloc_string(listing->allocator, "files", 5)
                                : uvh_alloc_string(listing->allocator, name, length);
    return listing->name == NULL ? UVHTTP_ENOMEM : 0;
}

static int open_archive(struct uvh_static_listing *listing,
                        const struct uvh_static_settings *settings, const char *directory,
                        const char *title)
{
    if (!settings->archive)
        return -EACCES;
    int result = name_archive(listing, title);
    if (result != 0)
        return result;
    struct uvh_archive_stream_options order = {
        .root = &settings->root,
        .directory = directory,
        .name = listing->name,
        .hidden = settings->hidden,
        .hide = settings->hide,
        .zip = listing->kind == UVH_STATIC_LISTING_ZIP,
        .most_entries = settings->archive_entries,
        .most_bytes = settings->archive_size,
    };
    uvh_bytes_init(&listing->first, listing->allocator, UVH_ARCHIVE_STREAM_SLICE_MAX);
    result = uvh_archive_stream_open(&listing->made.archive, listing->allocator, &order);
    listing->too_large = result == UVHTTP_ETOOLARGE;
    if (result != 0)
        return listing->too_large ? 0 : result;
    result = uvh_archive_stream_make(&listing->made.archive, &listing->first);
    if (result < 0)
        uvh_archive_stream_close(&listing->made.archive);
    listing->complete = result == 1;
    return result < 0 ? result : 0;
}

static void free_names(struct uvh_static_listing *listing)
{
    uvh_free(listing->allocator, listing->name);
    uvh_free(listing->allocator, listing);
}

int uvh_static_listing_open(const struct uvh_static_settings *settings, const char *directory,
                            const char *title, const struct uvh_static_listing_query *query,
                            struct uvh_static_listing **listing)
{
    const uvhttp_allocator_t *allocator = settings->allocator;
    struct uvh_static_listing *made = uvh_alloc_zero(allocator, sizeof(*made));
    if (made == NULL)
        return UVHTTP_ENOMEM;
    made->allocator = allocator;
    made->kind = query->kind;
    uvh_bytes_init(&made->first, allocator, 0);
    int result = 0;
    if (is_archive(query->kind))
        result = open_archive(made, settings, directory, title);
    else if (query->kind < UVH_STATIC_LISTING_TAR)
        result = open_page(made, settings, directory, title, query);
    if (result != 0) {
        uvh_bytes_release(&made->first);
        free_names(made);
        return result;
    }
    *listing = made;
    return 0;
}

/* ---- sending ---- */

/* The style sheet or the script: a text of the program. */
static bool is_asset(const struct uvh_static_listing *listing)
{
    return listing->kind == UVH_STATIC_LISTING_STYLE || listing->kind == UVH_STATIC_LISTING_SCRIPT;
}

static int make_page(void *arg, struct uvh_bytes *slice)
{
    return uvh_dir_listing_make(&((struct uvh_static_listing *)arg)->made.page, slice);
}

static int make_encoded(void *arg, struct uvh_bytes *slice)
{
    return uvh_slice_encoder_make(&((struct uvh_static_listing *)arg)->encoder, make_page, arg,
                                  slice);
}

static int make_archive(void *arg, struct uvh_bytes *slice)
{
    return uvh_archive_stream_make(&((struct uvh_static_listing *)arg)->made.archive, slice);
}

/* Frees all but the first slice, which belongs to the body once it is sent. */
static void close_listing(void *arg)
{
    struct uvh_static_listing *listing = arg;
    if (is_archive(listing->kind) && !listing->too_large)
        uvh_archive_stream_close(&listing->made.archive);
    else if (!is_archive(listing->kind) && !is_asset(listing))
        uvh_dir_listing_close(&listing->made.page);
    uvh_slice_encoder_close(&listing->encoder);
    free_names(listing);
}

void uvh_static_listing_free(struct uvh_static_listing *listing)
{
    if (listing == NULL)
        return;
    uvh_bytes_release(&listing->first);
    close_listing(listing);
}

static int set_disposition(uvhttp_response_t *response, const struct uvh_static_listing *listing)
{
    const char *ending = listing->kind == UVH_STATIC_LISTING_ZIP ? ".zip" : ".tar";
    uvhttp_request_t *request = uvhttp_response_request(response);
    size_t length = strlen(listing->name) + strlen(ending);
    char *name = uvhttp_request_allocate(request, length + 1);
    if (name == NULL)
        return UVHTTP_ENOMEM;
    snprintf(name, length + 1, "%s%s", listing->name, ending);
    const char *value = uvh_send_file_name(request, "attachment", name);
    if (value == NULL)
        return UVHTTP_ENOMEM;
    return uvhttp_response_set_header(response, "Content-Disposition", value);
}

static int set_fields(uvhttp_response_t *response, const struct uvh_static_listing *listing)
{
    int err = uvhttp_response_set_header(response, "Cache-Control", "no-cache");
    if (err == 0)
        err = uvhttp_response_add_header(response, "Vary", "Accept");
    if (err == 0 && listing->varies)
        err = uvh_vary_add(response, "Accept-Encoding", "accept-encoding");
    if (err == 0 && listing->coding != UVH_CODING_IDENTITY)
        err = uvhttp_response_set_header(response, "Content-Encoding",
                                         uvh_coding_name(listing->coding));
    if (err == 0 && is_archive(listing->kind))
        err = set_disposition(response, listing);
    if (err == 0 && listing->kind == UVH_STATIC_LISTING_HTML)
        err = uvh_page_policy_set(response, listing->nonce);
    if (err == 0 && !is_archive(listing->kind) && listing->made.page.entries.cut)
        err = uvhttp_response_set_header(response, "Listing-Truncated", "?1");
    return err;
}

bool uvh_static_listing_is_too_large(const struct uvh_static_listing *listing)
{
    return listing->too_large;
}

/* 304 or 412 where the conditions of the request require it, else 0; negative: UVHTTP_ENOMEM. A
 * listing has neither entity tag nor date, but it exists, which "*" matches (RFC 9110 sections
 * 13.1.1 and 13.1.2). */
static int condition_status(uvhttp_request_t *request)
{
    struct uvh_conditional_fields fields = {
        .if_match = uvhttp_request_field(request, UVHTTP_FIELD_IF_MATCH),
        .if_none_match = uvhttp_request_field(request, UVHTTP_FIELD_IF_NONE_MATCH),
    };
    const struct uvh_conditional_entity entity = {.exists = true};
    if (fields.if_match.base == NULL && fields.if_none_match.base == NULL)
        return 0;
    int err = uvh_field_lines_join_conditions(request, &fields);
    if (err != 0)
        return UVHTTP_ENOMEM;
    switch (uvh_conditional_evaluate(&fields, &entity, true)) {
    case UVH_CONDITIONAL_NOT_MODIFIED:
        return 304;
    case UVH_CONDITIONAL_FAILED:
        return 412;
    case UVH_CONDITIONAL_PROCEED:
        break;
    }
    return 0;
}

static int respond_not_modified(uvhttp_response_t *response, int status)
{
    if (status < 0)
        return status;
    return status == 304 ? uvhttp_response_send(response, 304, NULL, NULL, 0)
                         : uvhttp_response_send_status(response, status);
}

/* Responses without a body of their own: an asset, and an archive that is too large. */
static int respond_fixed(uvhttp_response_t *response, const struct uvh_static_listing *listing)
{
    if (listing->kind == UVH_STATIC_LISTING_STYLE)
        return uvh_dir_style_respond(response);
    if (listing->kind == UVH_STATIC_LISTING_SCRIPT)
        return uvh_dir_style_respond_script(response);
    return uvhttp_response_send_text(
        response, 403, "403 Forbidden\nThis directory is too large for an archive.\n");
}

int uvh_static_listing_respond(uvhttp_response_t *response, struct uvh_static_listing *listing)
{
    bool fixed = is_asset(listing) || listing->too_large;
    int status = fixed ? 0 : condition_status(uvhttp_response_request(response));
    int err = 0;
    if (fixed)
        err = respond_fixed(response, listing);
    else if (status == 0 || status == 304)
        err = set_fields(response, listing);
    if (err == 0 && status != 0)
        err = respond_not_modified(response, status);
    if (err != 0 || status != 0 || fixed) {
        uvh_static_listing_free(listing);
        return err;
    }
    struct uvh_pooled_source source = {
        .make = is_archive(listing->kind)                ? make_archive
                : listing->coding != UVH_CODING_IDENTITY ? make_encoded
                                                         : make_page,
        .close = close_listing,
        .arg = listing,
    };
    struct uvh_bytes first = listing->first;
    return uvh_pooled_body_send(response, types[listing->kind], &first, listing->complete, &source);
}

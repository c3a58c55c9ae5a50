/* Lists a directory without an index file: as a page, JSON, text or an archive.
 *
 * The request's query and its Accept field select the format (static_fetch.c reads them on the
 * loop). A job reads the directory (static_load.c). The loop sends the response, in slices when it
 * is long. */
#ifndef UVH_FILES_STATIC_LISTING_H
#define UVH_FILES_STATIC_LISTING_H

#include <uvhttp/response.h>

#include "files/dir_listing.h"
#include "files/static_settings.h"

enum uvh_static_listing_kind {
    UVH_STATIC_LISTING_HTML = UVH_DIR_HTML,
    UVH_STATIC_LISTING_JSON = UVH_DIR_JSON,
    UVH_STATIC_LISTING_TEXT = UVH_DIR_TEXT,
    UVH_STATIC_LISTING_TAR,
    UVH_STATIC_LISTING_ZIP,
    UVH_STATIC_LISTING_STYLE,  /* the style sheet of the page */
    UVH_STATIC_LISTING_SCRIPT, /* its script */
};

/* The format requested by the client. */
struct uvh_static_listing_query {
    enum uvh_static_listing_kind kind;
    enum uvh_dir_sort sort;
    bool descending;
    const char *filter;     /* NULL: none; lives as long as the request */
    bool kind_given;        /* by the query */
    enum uvh_coding coding; /* that the client prefers; not for an archive */
};

struct uvh_static_listing;

/* On the loop. Returns 0 or UVHTTP_ENOMEM. An unknown query is no error: it may be meant for an
 * index file. */
int uvh_static_listing_read_query(const struct uvh_static_settings *settings,
                                  uvhttp_request_t *request,
                                  struct uvh_static_listing_query *query);

/* In a job. `directory` as in uvh_dir_query, and `title` as in uvh_dir_listing_options; both
 * outlive the listing. Returns 0, UVHTTP_ENOMEM, or a negative errno (-EACCES for an archive when
 * archives are disabled). */
int uvh_static_listing_open(const struct uvh_static_settings *settings, const char *directory,
                            const char *title, const struct uvh_static_listing_query *query,
                            struct uvh_static_listing **listing);

/* The directory exceeds the limits of an archive: the response is 403. */
bool uvh_static_listing_is_too_large(const struct uvh_static_listing *listing);

/* On the loop. Takes ownership of the listing, whatever the result, which is that of a handler. */
int uvh_static_listing_respond(uvhttp_response_t *response, struct uvh_static_listing *listing);

/* For a listing that is not sent. NULL is allowed. */
void uvh_static_listing_free(struct uvh_static_listing *listing);

#endif

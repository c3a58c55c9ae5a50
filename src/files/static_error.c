#include "files/static_error.h"

#include <string.h>

#include <uvhttp/error.h>
#include <uvhttp/negotiate.h>

#include "base/alloc.h"
#include "files/dir_path.h"
#include "files/dir_style.h"
#include "files/page_policy.h"
#include "middleware/accepted_coding.h"
#include "options/field_lines.h"

enum { PAGE_MAX = 1024 * 1024 }; /* bytes, which the longest path does not reach */

struct page {
    struct uvh_bytes text;
};

static const char *sentence_of(int status)
{
    switch (status) {
    case 403:
        return "This page is not available to you.";
    case 404:
        return "There is no page at this address.";
    case 500:
        return "The server cannot read this page.";
    case 503:
        return "The server is busy. Try again in a moment.";
    default:
        return "";
    }
}

/* The part of the path below the mount, as static_files.c takes it. */
static uvhttp_slice_t path_below(const struct uvhttp_static *context, uvhttp_request_t *request)
{
    uvhttp_slice_t path = uvhttp_request_path_slice(request);
    uvhttp_slice_t rest = context->prefix_length > 0 ? (uvhttp_slice_t){NULL, 0}
                                                     : uvhttp_request_param_path(request, "*");
    size_t prefix = context->prefix_length > 0 ? context->prefix_length
                    : rest.base != NULL        ? path.length - rest.length
                                               : 1;
    if (prefix > path.length)
        prefix = path.length;
    return (uvhttp_slice_t){path.base + prefix, path.length - prefix};
}

static size_t count_names(uvhttp_slice_t path)
{
    size_t count = 0;
    for (size_t i = 0; i < path.length; i++)
        count += path.base[i] != '/' && (i + 1 == path.length || path.base[i + 1] == '/');
    return count;
}

static void append_page(const struct uvh_dir_path *path, int status, struct uvh_bytes *page)
{
    const char *reason = uvhttp_status_text(status);
    uvh_dir_style_append_head(page);
    uvh_bytes_append_format(page, "<title>%d %s</title>\n</head>\n<body>\n<main>\n", status,
                            reason);
    if (path->parts > 0) {
        uvh_bytes_append_text(page, "<nav aria-label=\"Path\">");
        uvh_dir_path_append_links(path, page);
        uvh_bytes_append_text(page, "</nav>\n");
    }
    uvh_bytes_append_format(page, "<h1>%d %s</h1>\n<p>%s</p>\n", status, reason,
                            sentence_of(status));
    if (path->parts > 0) {
        uvh_bytes_append_text(page, "<p>");
        uvh_dir_path_append_up(path, uvh_dir_path_below(path), page);
        uvh_bytes_append_text(page, "\">Back to the start</a></p>\n");
    }
    uvh_bytes_append_text(page, "</main>\n</body>\n</html>\n");
}

static void release(void *arg)
{
    struct page *page = arg;
    uvh_bytes_release(&page->text);
}

static int send_page(const struct uvhttp_static *context, uvhttp_response_t *response, int status)
{
    uvhttp_request_t *request = uvhttp_response_request(response);
    struct page *page = uvhttp_request_allocate(request, sizeof(*page));
    struct uvh_dir_path path = {
        .title = uvhttp_request_path(request),
        .parts = count_names(path_below(context, request)),
        .query = "",
    };
    int err = page == NULL ? UVHTTP_ENOMEM : uvh_page_policy_set(response, NULL);
    if (err != 0)
        return err;
    uvh_bytes_init(&page->text, context->settings.allocator, PAGE_MAX);
    append_page(&path, status, &page->text);
    if (page->text.failed) {
        release(page);
        return UVHTTP_ENOMEM;
    }
    return uvhttp_response_send_borrowed(response, status, "text/html; charset=utf-8",
                                         page->text.data, page->text.length, release, page);
}

bool uvh_static_error_prefers_html(uvhttp_request_t *request)
{
    static const char *const offers[] = {"text/plain", "text/html"};
    uvhttp_slice_t accept = uvhttp_request_field(request, UVHTTP_FIELD_ACCEPT);
    return uvh_field_lines_join(request, UVHTTP_FIELD_ACCEPT, &accept) == 0 &&
           uvhttp_negotiate_type(accept, offers, 2) == 1;
}

int uvh_static_error_respond(const struct uvhttp_static *context, uvhttp_response_t *response,
                             int status)
{
    uvhttp_request_t *request = uvhttp_response_request(response);
    if (status < 400)
        return uvhttp_response_send_status(response, status);
    if (uvh_dir_style_is_requested(request))
        return uvh_dir_style_respond(response);
    int err = uvh_vary_add(response, "Accept", "accept");
    if (err != 0)
        return err;
    return uvh_static_error_prefers_html(request) ? send_page(context, response, status)
                                                  : uvhttp_response_send_status(response, status);
}

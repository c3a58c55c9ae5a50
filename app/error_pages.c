/* See error_pages.h. */
#include "error_pages.h"

#include <stdlib.h>
#include <string.h>

#include <uvhttp/file.h>

#include "named_files.h"

static const char *const statuses[] = {"401", "403", "429"};

enum { PAGES = sizeof(statuses) / sizeof(statuses[0]) };

struct page {
    char *text; /* or NULL */
    size_t size;
    const char *type;
};

struct pages {
    struct page items[PAGES];
};

static const char key;

/* ---- the value: words such as "401,403=/no.html 4xx=/error.html" ---- */

/* The index of a status of three characters, or PAGES. */
static size_t index_of(const char *code, size_t length)
{
    size_t i = 0;
    while (i < PAGES && (length != 3 || memcmp(code, statuses[i], 3) != 0))
        i++;
    return i;
}

/* The path for a status: of the word that has it, else of the one for its class; NULL if there is
 * none. */
static const char *find_path(const char *given, const char *status, size_t *length)
{
    const char *path = NULL;
    bool exact = false;
    for (const char *word = given + strspn(given, " "); *word != '\0'; word += strspn(word, " ")) {
        size_t size = strcspn(word, " "), codes = strcspn(word, "=");
        for (const char *code = word; codes < size && code < word + codes;
             code += strcspn(code, ",=") + 1) {
            bool same = memcmp(code, status, 3) == 0, class = memcmp(code, "4xx", 3) == 0;
            if (!same && (!class || exact))
                continue;
            exact = exact || same;
            path = word + codes + 1;
            *length = size - codes - 1;
        }
        word += size;
    }
    return path;
}

/* ---- the pages ---- */

static void free_pages(void *arg)
{
    struct pages *pages = arg;
    for (size_t i = 0; i < PAGES; i++)
        uvhttp_file_release(pages->items[i].text);
    free(pages);
}

static const char *type_of(const char *path, size_t length)
{
    static const char *const types[][2] = {{".json", "application/json"},
                                           {".txt", "text/plain; charset=utf-8"}};
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        size_t end = strlen(types[i][0]);
        if (length >= end && memcmp(path + length - end, types[i][0], end) == 0)
            return types[i][1];
    }
    return "text/html; charset=utf-8";
}

bool uvh_error_pages_open(uvhttp_server_t *server, const struct uvh_setup_route *route,
                          void **result, struct uvh_problems *problems)
{
    *result = NULL;
    if (route->kind != UVH_ROUTE_STATIC || route->files.error_pages == NULL)
        return true;
    struct pages *pages = calloc(1, sizeof(*pages));
    int err = pages == NULL ? UVHTTP_ENOMEM : 0;
    for (size_t i = 0; i < PAGES && err == 0; i++) {
        char whole[PATH_MAX];
        size_t length = 0;
        const char *path = find_path(route->files.error_pages, statuses[i], &length);
        struct page *page = &pages->items[i];
        if (path == NULL || !uvh_named_files_path(route, path, length, whole))
            continue; /* a missing file is reported with the other pages */
        err = uvhttp_file_load(whole, &page->text, &page->size);
        page->type = type_of(path, length);
    }
    if (err == 0)
        err = uvhttp_server_own(server, free_pages, pages);
    if (err != 0) {
        if (pages != NULL)
            free_pages(pages);
        uvh_problems_add(problems, route->root.mark, "error_pages: a page cannot be read: %s",
                         uvhttp_strerror(err));
        return false;
    }
    *result = pages;
    return true;
}

int uvh_error_pages_use(uvhttp_request_t *request, uvhttp_response_t *response, void *pages)
{
    (void)response;
    int err = uvhttp_request_attach(request, &key, pages, NULL);
    return err == 0 ? UVHTTP_DECLINED : err;
}

int uvh_error_pages_apply(uvhttp_request_t *request, uvhttp_response_t *response,
                          const char *reason, void *arg)
{
    (void)reason, (void)arg;
    const struct pages *pages = uvhttp_request_attached(request, &key);
    uvhttp_method_t method = uvhttp_request_method(request);
    char status[16];
    snprintf(status, sizeof(status), "%d", uvhttp_response_status(response));
    size_t index = index_of(status, strlen(status));
    if (pages == NULL || index == PAGES || pages->items[index].text == NULL ||
        (method != UVHTTP_METHOD_GET && method != UVHTTP_METHOD_HEAD))
        return 0;
    const struct page *page = &pages->items[index];
    int err = uvhttp_response_set_header(response, "Content-Type", page->type);
    return err != 0 ? err : uvhttp_response_replace_body(response, page->text, page->size);
}

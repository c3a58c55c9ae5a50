/* Markdown in listings. Properties: the page has only elements and attributes of the list below,
 * open elements are closed in order, and a link has no scheme that runs a script. */
#include <strings.h>

#include "base/alloc.h"
#include "files/dir_markdown.h"
#include "fuzz/fuzz_check.h"

enum { MAX_DEPTH = 2000, MAX_NAME = 16 };

static const char *const elements[] = {
    "a", "blockquote", "code",   "del",   "em",    "h2", "h3", "h4",    "h5", "h6", "li", "ol",
    "p", "pre",        "strong", "table", "tbody", "td", "th", "thead", "tr", "ul", NULL};
static const char *const empty_elements[] = {"br", "hr", "img", "input", NULL};
static const char *const attributes[] = {"alt", "checked", "class", "disabled", "href", "loading",
                                         "rel", "src",     "start", "type",     NULL};

static bool is_in(const char *const *list, const char *name)
{
    while (*list != NULL && strcmp(*list, name) != 0)
        list++;
    return *list != NULL;
}

static const char *read_name(const char *at, char name[MAX_NAME])
{
    size_t length = strspn(at, "abcdefghijklmnopqrstuvwxyz0123456789");
    require(length > 0 && length < MAX_NAME);
    memcpy(name, at, length);
    name[length] = '\0';
    return at + length;
}

static void check_url(const char *value, size_t length)
{
    size_t end = strcspn(value, ":/?#\"");
    if (end >= length || value[end] != ':')
        return;
    require((end == 4 && strncasecmp(value, "http", 4) == 0) ||
            (end == 5 && strncasecmp(value, "https", 5) == 0) ||
            (end == 6 && strncasecmp(value, "mailto", 6) == 0));
}

/* From the name of the first attribute to the '>'. */
static const char *check_attributes(const char *at)
{
    while (*at == ' ') {
        char name[MAX_NAME];
        at = read_name(at + 1, name);
        require(is_in(attributes, name));
        if (*at != '=')
            continue;
        require(at[1] == '"');
        size_t length = strcspn(at + 2, "\"<>");
        require(at[2 + length] == '"');
        if (strcmp(name, "href") == 0 || strcmp(name, "src") == 0)
            check_url(at + 2, length);
        at += length + 3;
    }
    require(*at == '>');
    return at + 1;
}

static void check_page(const char *page)
{
    static char open[MAX_DEPTH][MAX_NAME];
    size_t depth = 0;
    for (const char *at = page + strcspn(page, "<>"); *at != '\0'; at += strcspn(at, "<>")) {
        char name[MAX_NAME];
        bool closing = at[1] == '/';
        require(*at == '<');
        at = check_attributes(read_name(at + (closing ? 2 : 1), name));
        if (closing) {
            require(depth > 0 && strcmp(open[--depth], name) == 0);
        } else if (!is_in(empty_elements, name)) {
            require(is_in(elements, name) && depth < MAX_DEPTH);
            memcpy(open[depth++], name, sizeof(name));
        }
    }
    require(depth == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (memchr(data, '\0', size) != NULL) /* such a file is no text */
        return 0;
    struct uvh_bytes page;
    char *text = exact_copy(data, size);
    text = realloc(text, size + 1);
    require(text != NULL);
    text[size] = '\0';
    uvh_bytes_init(&page, uvh_alloc_default(), 16 * 1024 * 1024);
    if (uvh_dir_markdown_append(&page, text, size)) {
        require(uvh_bytes_append(&page, "", 1) == 0);
        check_page(page.data);
    }
    uvh_bytes_release(&page);
    free(text);
    return 0;
}

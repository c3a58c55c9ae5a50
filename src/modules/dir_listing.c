/* Names are collected first, since they are to be sorted; then the page is put together in one go.
 *
 * A name is any bytes but '/' and NUL. In a link every byte that is not plainly safe is percent-encoded; in text, what is no UTF-8 or
 * would not be seen is replaced, and the rest escaped. */
#include "modules/dir_listing.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <uvhttp/error.h>

#include "base/alloc.h"
#include "codec/http_date.h"

static const char page_begin[] = "<!DOCTYPE html>\n"
                                 "<html lang=\"en\">\n"
                                 "<head>\n"
                                 "<meta charset=\"utf-8\">\n"
                                 "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                                 "<meta name=\"color-scheme\" content=\"light dark\">\n"
                                 "<title>";

static const char page_style[] =
    "</title>\n"
    "<style>\n"
    ":root { color-scheme: light dark; --text: #1d2126; --soft: #5b6470; --line: #d9dee4; --link: #0b57a4; "
    "--page: #fff; }\n"
    "@media (prefers-color-scheme: dark) {\n"
    "  :root { --text: #e4e7eb; --soft: #9aa4b0; --line: #343b44; --link: #86bdf5; --page: #15181c; }\n"
    "}\n"
    "body { margin: 2rem auto; max-width: 60rem; padding: 0 1rem; background: var(--page); color: "
    "var(--text);\n"
    "  font: 1rem/1.5 system-ui, sans-serif; }\n"
    "h1 { font-size: 1.25rem; overflow-wrap: anywhere; }\n"
    "table { width: 100%; border-collapse: collapse; }\n"
    "th { text-align: left; font-weight: 600; color: var(--soft); }\n"
    "th, td { padding: .3rem .5rem; border-bottom: 1px solid var(--line); vertical-align: top; }\n"
    "td:first-child { overflow-wrap: anywhere; white-space: pre-wrap; }\n"
    "th:nth-child(n+2), td:nth-child(n+2) { text-align: right; white-space: nowrap; }\n"
    "td:nth-child(n+2), p { color: var(--soft); }\n"
    "a { color: var(--link); text-decoration: none; }\n"
    "a:hover, a:focus { text-decoration: underline; }\n"
    "</style>\n"
    "</head>\n"
    "<body>\n"
    "<h1>";

static const char table_begin[] = "</h1>\n"
                                  "<table>\n"
                                  "<thead><tr><th scope=\"col\">Name</th><th scope=\"col\">Size</th><th "
                                  "scope=\"col\">Modified (UTC)</th></tr></thead>\n"
                                  "<tbody>\n";

static const char parent_row[] = "<tr><td><a href=\"../\">../</a></td><td></td><td></td></tr>\n";
static const char table_end[] = "</tbody>\n</table>\n";
static const char page_end[] = "</body>\n</html>\n";

static const char replacement[] = "\xEF\xBF\xBD"; /* U+FFFD */

struct entry {
    char *name;
    uint64_t size;
    int64_t modified;
    bool folder;
};

struct collection {
    const struct uvh_dir_listing_order *order;
    const uvhttp_allocator_t *allocator;
    struct entry *entries;
    size_t count;
    size_t capacity;
    bool cut;
};

enum { COLLECTION_FULL = 1 };

/* What a link leads to, if it may be served. */
static bool look_behind(const struct collection *collection, const char *name, struct uvh_file_facts *facts)
{
    char path[PATH_MAX];
    size_t folder = strlen(collection->order->folder);
    size_t length = strlen(name);
    if (folder + length >= sizeof(path))
        return false;
    memcpy(path, collection->order->folder, folder);
    memcpy(path + folder, name, length + 1);
    return uvh_file_look(collection->order->root, path, facts) == 0;
}

static int add_entry(struct collection *collection, const char *name, const struct uvh_file_facts *facts)
{
    if (collection->count == collection->capacity) {
        size_t capacity = collection->capacity == 0 ? 64 : collection->capacity * 2;
        struct entry *entries =
            uvh_realloc(collection->allocator, collection->entries, capacity * sizeof(*entries));
        if (entries == NULL)
            return UVHTTP_ENOMEM;
        collection->entries = entries;
        collection->capacity = capacity;
    }
    char *copy = uvh_alloc_string(collection->allocator, name, strlen(name));
    if (copy == NULL)
        return UVHTTP_ENOMEM;
    collection->entries[collection->count++] = (struct entry){
        .name = copy,
        .size = facts->size,
        .modified = facts->modified_seconds,
        .folder = facts->kind == UVH_FILE_FOLDER,
    };
    return 0;
}

static int collect(const char *name, const struct uvh_file_facts *facts, void *arg)
{
    struct collection *collection = arg;
    struct uvh_file_facts target = *facts;
    if (name[0] == '.' && !collection->order->hidden)
        return 0;
    if (facts->kind == UVH_FILE_LINK && !look_behind(collection, name, &target))
        return 0;
    if (target.kind != UVH_FILE_REGULAR && target.kind != UVH_FILE_FOLDER)
        return 0;
    if (collection->count == UVH_DIR_LISTING_MAX_ENTRIES) {
        collection->cut = true;
        return COLLECTION_FULL;
    }
    return add_entry(collection, name, &target);
}

static int lower(char byte)
{
    return byte >= 'A' && byte <= 'Z' ? byte - 'A' + 'a' : (unsigned char)byte;
}

/* Folders first, then by name without regard to ASCII case, then by bytes, so that the order is always the same. */
static int compare_entries(const void *left, const void *right)
{
    const struct entry *a = left;
    const struct entry *b = right;
    if (a->folder != b->folder)
        return a->folder ? -1 : 1;
    size_t i = 0;
    while (a->name[i] != '\0' && lower(a->name[i]) == lower(b->name[i]))
        i++;
    int difference = lower(a->name[i]) - lower(b->name[i]);
    return difference != 0 ? difference : strcmp(a->name, b->name);
}

/* The length of the UTF-8 sequence at `text` (RFC 3629), or 0 when it is none. The NUL at the end belongs to no sequence. */
static size_t utf8_length(const unsigned char *text)
{
    unsigned char first = text[0];
    unsigned char low = 0x80;
    unsigned char high = 0xBF;
    size_t length;
    if (first < 0x80)
        return 1;
    if (first >= 0xC2 && first <= 0xDF)
        length = 2;
    else if (first >= 0xE0 && first <= 0xEF)
        length = 3;
    else if (first >= 0xF0 && first <= 0xF4)
        length = 4;
    else
        return 0;
    if (first == 0xE0)
        low = 0xA0; /* shorter forms exist */
    if (first == 0xED)
        high = 0x9F; /* surrogates */
    if (first == 0xF0)
        low = 0x90;
    if (first == 0xF4)
        high = 0x8F; /* above U+10FFFF */
    if (text[1] < low || text[1] > high)
        return 0;
    for (size_t i = 2; i < length; i++) {
        if (text[i] < 0x80 || text[i] > 0xBF)
            return 0;
    }
    return length;
}

/* What stands for the character at `text` in HTML, or NULL for itself. Control characters show as their pictures (U+2400). */
static const char *escape_of(const unsigned char *text, size_t length, char picture[4])
{
    switch (text[0]) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        break;
    }
    if (text[0] < 0x20 || text[0] == 0x7F) {
        picture[0] = '\xE2';
        picture[1] = '\x90';
        picture[2] = (char)(0x80 + (text[0] == 0x7F ? 0x21 : text[0]));
        picture[3] = '\0';
        return picture;
    }
    bool c1_control = length == 2 && text[0] == 0xC2 && text[1] < 0xA0;
    return length == 0 || c1_control ? replacement : NULL;
}

static void append_text(struct uvh_bytes *page, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    while (*at != '\0') {
        char picture[4];
        size_t length = utf8_length(at);
        const char *escape = escape_of(at, length, picture);
        if (escape != NULL)
            uvh_bytes_append_text(page, escape);
        else
            uvh_bytes_append(page, at, length);
        at += length == 0 ? 1 : length;
    }
}

static bool is_unreserved(unsigned char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
           byte == '-' || byte == '.' || byte == '_' || byte == '~';
}

static void append_link(struct uvh_bytes *page, const char *name)
{
    static const char digits[] = "0123456789ABCDEF";
    for (const unsigned char *at = (const unsigned char *)name; *at != '\0'; at++) {
        char encoded[3] = {'%', digits[*at >> 4], digits[*at & 15]};
        if (is_unreserved(*at))
            uvh_bytes_append(page, at, 1);
        else
            uvh_bytes_append(page, encoded, sizeof(encoded));
    }
}

static void append_size(struct uvh_bytes *page, uint64_t size)
{
    static const char units[] = "KMGTPE";
    if (size < 1024) {
        uvh_bytes_append_format(page, "%u B", (unsigned)size);
        return;
    }
    size_t unit = 0;
    uint64_t tenths = size / 1024 * 10 + size % 1024 * 10 / 1024;
    while (tenths >= 10240 && units[unit + 1] != '\0') {
        tenths /= 1024;
        unit++;
    }
    if (tenths < 100)
        uvh_bytes_append_format(page, "%u.%u %ciB", (unsigned)tenths / 10, (unsigned)tenths % 10,
                                units[unit]);
    else
        uvh_bytes_append_format(page, "%u %ciB", (unsigned)tenths / 10, units[unit]);
}

/* "06 Nov 1994 08:49", cut out of the date as HTTP writes it. */
static void append_date(struct uvh_bytes *page, int64_t seconds)
{
    enum { DAY = 5, LENGTH = 17 };
    char date[UVH_HTTP_DATE_SIZE];
    uvh_http_date_format(seconds, date);
    uvh_bytes_append(page, date + DAY, LENGTH);
}

static void append_row(struct uvh_bytes *page, const struct entry *entry)
{
    const char *slash = entry->folder ? "/" : "";
    /* "./" before it, or a name with a colon would be taken for a URL scheme (RFC 3986 4.2). */
    uvh_bytes_append_text(page, "<tr><td><a href=\"./");
    append_link(page, entry->name);
    uvh_bytes_append_text(page, slash);
    uvh_bytes_append_text(page, "\"><bdi>");
    append_text(page, entry->name);
    uvh_bytes_append_text(page, slash);
    uvh_bytes_append_text(page, "</bdi></a></td><td>");
    if (!entry->folder) {
        uvh_bytes_append_format(page, "<data value=\"%" PRIu64 "\">", entry->size);
        append_size(page, entry->size);
        uvh_bytes_append_text(page, "</data>");
    }
    uvh_bytes_append_text(page, "</td><td>");
    append_date(page, entry->modified);
    uvh_bytes_append_text(page, "</td></tr>\n");
}

static void append_page(struct uvh_bytes *page, const struct collection *collection)
{
    const struct uvh_dir_listing_order *order = collection->order;
    uvh_bytes_append_text(page, page_begin);
    append_text(page, order->title);
    uvh_bytes_append_text(page, page_style);
    append_text(page, order->title);
    uvh_bytes_append_text(page, table_begin);
    if (order->folder[0] != '\0')
        uvh_bytes_append_text(page, parent_row);
    for (size_t i = 0; i < collection->count; i++)
        append_row(page, &collection->entries[i]);
    uvh_bytes_append_text(page, table_end);
    if (collection->cut)
        uvh_bytes_append_format(page, "<p>There is more in this folder: %d entries are shown.</p>\n",
                                (int)UVH_DIR_LISTING_MAX_ENTRIES);
    else if (collection->count == 0)
        uvh_bytes_append_text(page, "<p>This folder is empty.</p>\n");
    uvh_bytes_append_text(page, page_end);
}

int uvh_dir_listing_write(const struct uvh_dir_listing_order *order, struct uvh_bytes *page)
{
    struct collection collection = {.order = order, .allocator = page->allocator};
    int result = uvh_file_list(order->root, order->folder, collect, &collection);
    if (result == COLLECTION_FULL)
        result = 0;
    if (result == 0) {
        if (collection.count > 0)
            qsort(collection.entries, collection.count, sizeof(struct entry), compare_entries);
        append_page(page, &collection);
        if (page->failed)
            result = UVHTTP_ENOMEM;
    }
    for (size_t i = 0; i < collection.count; i++)
        uvh_free(page->allocator, collection.entries[i].name);
    uvh_free(page->allocator, collection.entries);
    return result;
}

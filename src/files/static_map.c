/* Parses option strings of words separated by spaces, once, when the context is opened. */
#include "files/static_map.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <uvhttp/error.h>

#include "base/alloc.h"
#include "files/static_path.h"
#include "options/error.h"

static const char path_word[] = "{path}";

enum { PATH_WORD_LENGTH = sizeof(path_word) - 1, FIRST_ERROR = 400, LAST_ERROR = 599 };

/* The text being parsed, and the error object or NULL. */
struct reader {
    struct uvh_static_map *map;
    const char *option;
    bool hidden; /* names of hidden files are allowed */
    bool *seen;  /* of error_pages: by status - 400, then 4xx and 5xx */
    uvhttp_error_t *error;
};

static int refuse(const struct reader *reader, const char *word, size_t length, const char *what)
{
    char value[sizeof(((uvhttp_error_t *)NULL)->value)];
    snprintf(value, sizeof(value), "%.*s", (int)length, word);
    return uvh_error_sentence(reader->error, reader->option, value, "%s: '%.*s' %s", reader->option,
                              uvh_error_quoted(value, sizeof(value) - 4), value, what);
}

/* The next word of a text, of `*length` bytes; 0 at its end. */
static const char *next_word(const char *text, size_t *length)
{
    text += strspn(text, " ");
    *length = strcspn(text, " ");
    return text;
}

/* Checks the path of a configured file. */
static int check_path(const struct reader *reader, const char *word, size_t length,
                      const char *path)
{
    if (uvh_static_path_has_dots(path))
        return refuse(
            reader, word, length,
            "contains '.' or '..'; write a path below the served directory, without them");
    if (path[0] == '\0' || path[strlen(path) - 1] == '/')
        return refuse(reader, word, length, "is a directory; a file is required");
    if (!reader->hidden && uvh_static_path_is_hidden(path))
        return refuse(reader, word, length, "is hidden, and hidden files are denied");
    return 0;
}

/* The index of the page with that path; adds one if needed. */
static int add_page(const struct reader *reader, const char *word, size_t length, int *index)
{
    struct uvh_static_map *map = reader->map;
    const char *url = strstr(word, "://");
    if (url != NULL && url < word + length)
        return refuse(reader, word, length,
                      "is a URL; a file below the served directory is "
                      "required");
    char *key = uvh_alloc(map->allocator, length + 2);
    if (key == NULL)
        return UVHTTP_ENOMEM;
    key[0] = '\0';
    size_t size = 1 + uvh_static_path_normalize(word, length, key + 1);
    int err = check_path(reader, word, length, key + 1);
    size_t i = 0;
    while (err == 0 && i < map->page_count &&
           (map->pages[i].key_length != size || memcmp(map->pages[i].key, key, size) != 0))
        i++;
    if (err == 0 && i == UVH_STATIC_PAGES_MAX)
        err = refuse(reader, word, length,
                     "is one file too many; at most 32 different files are allowed");
    if (err != 0 || i < map->page_count) {
        uvh_free(map->allocator, key);
        *index = (int)i;
        return err;
    }
    map->pages[i].key = key;
    map->pages[i].key_length = size;
    atomic_init(&map->pages[i].missing, false);
    map->page_count++;
    *index = (int)i;
    return 0;
}

static bool is_error_status(const char *word, size_t length, int *status)
{
    if (length != 3 || strspn(word, "0123456789") < 3)
        return false;
    *status = (word[0] - '0') * 100 + (word[1] - '0') * 10 + (word[2] - '0');
    return *status >= FIRST_ERROR && *status <= LAST_ERROR;
}

/* A pattern, with a normalized copy of it for the item. */
static int read_pattern(const struct reader *reader, const char *word, size_t length,
                        struct uvh_static_item *item)
{
    char *pattern = uvh_alloc(reader->map->allocator, length + 1);
    if (pattern == NULL)
        return UVHTTP_ENOMEM;
    item->pattern = pattern; /* released with the map in any case */
    uvh_static_path_normalize(word, length, pattern);
    if (strcmp(pattern, "{path}/") == 0) {
        item->kind = UVH_STATIC_ITEM_DIRECTORY;
        return 0;
    }
    return check_path(reader, word, length, pattern);
}

/* Every brace must be part of "{path}". */
static bool has_strange_brace(const char *word, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (length - i >= PATH_WORD_LENGTH && memcmp(word + i, path_word, PATH_WORD_LENGTH) == 0)
            i += PATH_WORD_LENGTH - 1;
        else if (word[i] == '{' || word[i] == '}')
            return true;
    }
    return false;
}

static bool has_path(const char *word, size_t length)
{
    const char *found = strstr(word, path_word);
    return found != NULL && found < word + length;
}

static int read_item(const struct reader *reader, const char *word, size_t length,
                     struct uvh_static_item *item)
{
    if (has_strange_brace(word, length))
        return refuse(reader, word, length, "contains a brace; the only variable is {path}");
    if (word[0] == '=') {
        item->kind = UVH_STATIC_ITEM_STATUS;
        return is_error_status(word + 1, length - 1, &item->status)
                   ? 0
                   : refuse(reader, word, length, "is not a status; allowed are =400 to =599");
    }
    if (has_path(word, length)) {
        item->kind = UVH_STATIC_ITEM_FILE;
        return read_pattern(reader, word, length, item);
    }
    item->kind = UVH_STATIC_ITEM_PAGE;
    return add_page(reader, word, length, &item->page);
}

static int read_list(const struct reader *reader, const char *text)
{
    struct uvh_static_map *map = reader->map;
    size_t length;
    for (const char *word = next_word(text, &length); length > 0;
         word = next_word(word + length, &length)) {
        if (map->item_count == UVH_STATIC_ITEMS_MAX)
            return refuse(reader, word, length, "is one entry too many; at most 16 are allowed");
        if (map->item_count > 0 && map->items[map->item_count - 1].kind == UVH_STATIC_ITEM_STATUS)
            return refuse(reader, word, length, "is never used: a status ends the list");
        int err = read_item(reader, word, length, &map->items[map->item_count++]);
        if (err != 0)
            return err;
    }
    return map->item_count > 0 ? 0 : refuse(reader, text, strlen(text), "is an empty list");
}

/* The statuses static_fetch.c sends: those of uvh_static_response_status for errors; and 401 and
 * 429 of a program's middleware. Uploads send a text with the reason. */
static const int page_statuses[] = {401, 403, 404, 429, 500, 503};

enum { PAGE_STATUSES = sizeof(page_statuses) / sizeof(page_statuses[0]) };

/* The others have a page as the last one of the list. */
static bool has_pages(const struct uvh_static_map *map, int status)
{
    const struct uvh_static_item *last = &map->items[map->item_count - 1];
    for (size_t i = 0; i < PAGE_STATUSES; i++) {
        if (page_statuses[i] == status)
            return true;
    }
    return last->kind == UVH_STATIC_ITEM_STATUS && last->status == status;
}

static int refuse_status(const struct reader *reader, const char *code, size_t length)
{
    char what[160] = "is never sent here; allowed are ";
    size_t used = strlen(what);
    for (size_t i = 0; i < PAGE_STATUSES; i++)
        used += (size_t)snprintf(what + used, sizeof(what) - used, "%d, ", page_statuses[i]);
    snprintf(what + used, sizeof(what) - used, "4xx, 5xx and the status at the end of try_files");
    return refuse(reader, code, length, what);
}

/* "/404.html,403": a comma instead of a space, detected by the "=" after it. */
static bool runs_into_next(const char *path, size_t length)
{
    const char *equals = memchr(path, '=', length);
    return equals != NULL && memchr(path, ',', (size_t)(equals - path)) != NULL;
}

/* An error of a word without a page: shows one for its status. */
static int refuse_form(const struct reader *reader, const char *word, size_t length,
                       const char *fault)
{
    char what[64];
    bool single = strcspn(word, " =") == 3 && (word[0] == '4' || word[0] == '5');
    const char *code = single ? word : "404";
    snprintf(what, sizeof(what), "%s; write %.3s=/%.3s.html", fault, code, code);
    return refuse(reader, word, length, what);
}

static int note_page(const struct reader *reader, const char *code, size_t length, int index)
{
    if (reader->seen[index])
        return refuse(reader, code, length, "has more than one page; omit all but one");
    reader->seen[index] = true;
    return 0;
}

/* Sets the page of one status, or of all that begin with a digit. */
static int set_error_page(const struct reader *reader, const char *code, size_t length, int page,
                          bool exact)
{
    int *pages = reader->map->error_pages;
    int status;
    if (length == 3 && (code[0] == '4' || code[0] == '5') && memcmp(code + 1, "xx", 2) == 0) {
        int first = code[0] == '4' ? 0 : 100;
        for (int i = first; i < first + 100 && !exact; i++)
            pages[i] = page;
        return exact ? 0 : note_page(reader, code, length, 200 + (code[0] == '5'));
    }
    if (!is_error_status(code, length, &status))
        return refuse(reader, code, length, "is not a status; allowed are 400 to 599, 4xx and 5xx");
    if (status == 405 || status == 412 || status == 416)
        return refuse(reader, code, length,
                      "cannot have an error page: programs read its response");
    if (!has_pages(reader->map, status))
        return refuse_status(reader, code, length);
    if (!exact)
        return 0;
    pages[status - FIRST_ERROR] = page;
    return note_page(reader, code, length, status - FIRST_ERROR);
}

/* Classes first, since a single status overrides its class in any order. */
static int read_error_pages(const struct reader *reader, const char *text, bool exact)
{
    size_t length;
    for (const char *word = next_word(text, &length); length > 0;
         word = next_word(word + length, &length)) {
        size_t codes = strcspn(word, "=");
        int page = UVH_STATIC_NO_PAGE;
        if (codes >= length)
            return refuse_form(reader, word, length, "has no '='");
        if (codes + 1 == length)
            return refuse_form(reader, word, length, "has no file");
        if (runs_into_next(word + codes + 1, length - codes - 1))
            return refuse(reader, word, length,
                          "has a comma between pages; separate them with a space");
        int err = add_page(reader, word + codes + 1, length - codes - 1, &page);
        for (size_t at = 0; err == 0 && at <= codes;) {
            size_t end = at + strcspn(word + at, ",=");
            err = set_error_page(reader, word + at, end - at, page, exact);
            at = end + 1;
        }
        if (err != 0)
            return err;
    }
    return 0;
}

/* Checks combinations of options. */
static int check_options(struct reader *reader, const uvhttp_static_options_t *options)
{
    const char *other = options->clean_urls         ? "clean_urls"
                        : options->spa              ? "spa"
                        : options->fallback != NULL ? "fallback"
                                                    : NULL;
    reader->option = "try_files";
    if (options->try_files != NULL && other != NULL)
        return uvh_error_sentence(reader->error, "try_files", options->try_files,
                                  "try_files cannot be combined with %s; %s in try_files "
                                  "instead",
                                  other,
                                  options->clean_urls
                                      ? "write {path}.html"
                                      : "write its file, such as /index.html, as the last word");
    reader->option = "file";
    if (options->try_files != NULL)
        other = "try_files";
    else if (other == NULL && options->uploads) /* stored files could never be read */
        other = "uploads";
    if (options->file != NULL && other != NULL)
        return uvh_error_sentence(reader->error, "file", options->file,
                                  "file cannot be combined with %s", other);
    return 0;
}

static int read_fallback(struct reader *reader, const uvhttp_static_options_t *options)
{
    const char *name = options->fallback;
    size_t length = name == NULL ? 0 : strlen(name);
    reader->option = "fallback";
    if (name == NULL) {
        reader->option = "spa";
        name = next_word(options->index == NULL ? "index.html" : options->index, &length);
        if (length == 0)
            return uvh_error_sentence(reader->error, "spa", "",
                                      "spa requires an index file, but index is empty");
    }
    return add_page(reader, name, length, &reader->map->fallback);
}

/* A file with one of these names must be in the directory itself, whatever path precedes it. */
static int check_index(struct reader *reader, const uvhttp_static_options_t *options)
{
    size_t length;
    reader->option = "index";
    for (const char *name = next_word(options->index == NULL ? "" : options->index, &length);
         length > 0; name = next_word(name + length, &length)) {
        if (memchr(name, '/', length) != NULL)
            return refuse(reader, name, length,
                          "contains a slash; a file name without a path is required");
        if (length <= 2 && strspn(name, ".") >= length)
            return refuse(reader, name, length, "is a directory; a file is required");
        if (!reader->hidden && name[0] == '.')
            return refuse(reader, name, length, "is hidden, and hidden files are denied");
    }
    return 0;
}

static int read_options(struct reader *reader, const uvhttp_static_options_t *options)
{
    struct uvh_static_map *map = reader->map;
    bool seen[LAST_ERROR - FIRST_ERROR + 1 + 2] = {false};
    int err = check_options(reader, options);
    reader->seen = seen;
    reader->hidden = options->hidden;
    if (err == 0)
        err = check_index(reader, options);
    if (err != 0)
        return err;
    reader->option = "try_files";
    err = read_list(reader, options->try_files != NULL ? options->try_files
                            : options->clean_urls      ? "{path} {path}/ {path}.html"
                                                       : "{path} {path}/");
    if (err == 0 && (options->spa || options->fallback != NULL))
        err = read_fallback(reader, options);
    /* These two are configured, and no path of a request leads to them: they may be denied
     * paths. */
    reader->hidden = true;
    reader->option = "file";
    if (err == 0 && options->file != NULL)
        err = add_page(reader, options->file, strlen(options->file), &map->only);
    reader->option = "error_pages";
    for (int exact = 0; err == 0 && options->error_pages != NULL && exact < 2; exact++)
        err = read_error_pages(reader, options->error_pages, exact == 1);
    return err;
}

int uvh_static_map_open(struct uvh_static_map *map, const uvhttp_allocator_t *allocator,
                        const uvhttp_static_options_t *options, uvhttp_error_t *error)
{
    *map = (struct uvh_static_map){
        .allocator = allocator,
        .only = UVH_STATIC_NO_PAGE,
        .fallback = UVH_STATIC_NO_PAGE,
        .clean = options->clean_urls,
    };
    for (size_t i = 0; i < sizeof(map->error_pages) / sizeof(map->error_pages[0]); i++)
        map->error_pages[i] = UVH_STATIC_NO_PAGE;
    map->pages = uvh_alloc(allocator, UVH_STATIC_PAGES_MAX * sizeof(struct uvh_static_page));
    if (map->pages == NULL)
        return UVHTTP_ENOMEM;
    struct reader reader = {.map = map, .error = error};
    int err = read_options(&reader, options);
    if (err != 0)
        uvh_static_map_release(map);
    return err;
}

void uvh_static_map_release(struct uvh_static_map *map)
{
    for (size_t i = 0; i < map->item_count; i++)
        uvh_free(map->allocator, map->items[i].pattern);
    for (size_t i = 0; i < map->page_count; i++)
        uvh_free(map->allocator, map->pages[i].key);
    uvh_free(map->allocator, map->pages);
    map->pages = NULL;
    map->item_count = 0;
    map->page_count = 0;
}

bool uvh_static_map_is_plain(const uvhttp_static_options_t *options)
{
    return options->try_files == NULL && options->fallback == NULL && !options->spa &&
           !options->clean_urls;
}

const char *uvh_static_map_page_path(const struct uvh_static_map *map, int page)
{
    return map->pages[page].key + 1;
}

int uvh_static_map_error_page(const struct uvh_static_map *map, int status)
{
    return status >= FIRST_ERROR && status <= LAST_ERROR ? map->error_pages[status - FIRST_ERROR]
                                                         : UVH_STATIC_NO_PAGE;
}

bool uvh_static_map_expand(const struct uvh_static_item *item, const char *path, char *out,
                           size_t size)
{
    size_t length = strlen(path);
    size_t used = 0;
    for (const char *from = item->pattern; *from != '\0';) {
        const char *word = strstr(from, path_word);
        size_t plain = word == NULL ? strlen(from) : (size_t)(word - from);
        size_t more = word == NULL ? 0 : length;
        if (plain + more >= size - used)
            return false;
        memcpy(out + used, from, plain);
        memcpy(out + used + plain, path, more);
        used += plain + more;
        from += plain + (word == NULL ? 0 : PATH_WORD_LENGTH);
    }
    out[used] = '\0';
    uvh_static_path_normalize(out, used, out);
    return true;
}

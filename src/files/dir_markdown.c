/* md4c parses, and calls a function for each element. Its own HTML renderer is not used, because it
 * copies raw HTML and any scheme of a link; a list of what is allowed is easier to check. */
#include "files/dir_markdown.h"

#if defined(UVH_WITH_MARKDOWN)

#include <md4c.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "files/dir_names.h"

enum {
    OUTPUT_MAX = 1024 * 1024, /* bytes; a table may have more cells than the text has bytes */
    DEPTH_MAX = 100,          /* of nested blocks */
    SPANS_MAX = 100,          /* nested ones */
    URL_MAX = 2048,           /* bytes; a longer one is no link */
    FIRST_HEADING = 3,        /* the page has a heading for the directory and one for the file */
    LAST_HEADING = 6,
    STOP = -1, /* md4c takes only negative values */
};

struct writer {
    struct uvh_bytes *page;
    size_t begin; /* of the output in the page */
    unsigned depth;
    unsigned span_count;
    unsigned char spans[SPANS_MAX]; /* types of the open ones, the outermost first */
    unsigned images;                /* nested ones: only their text is written */
    unsigned
        links;     /* nested ones, by an address in the text of a link: only the outermost counts */
    bool no_link;  /* it has no element */
    bool no_image; /* the same for the outermost image */
};

static int check(const struct writer *writer)
{
    return writer->page->failed || writer->page->length - writer->begin > OUTPUT_MAX ||
                   writer->depth > DEPTH_MAX
               ? STOP
               : 0;
}

/* ---- text ---- */

static size_t write_utf8(uint32_t code, char out[4])
{
    if (code == 0 || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        code = 0xfffd;
    size_t size = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char leads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = size - 1; i > 0; i--, code >>= 6)
        out[i] = (char)(0x80 | (code & 0x3f));
    out[0] = (char)(leads[size] | code);
    return size;
}

/* Decodes a character reference into `out`. Returns the length; 0 for an unknown name. */
static size_t decode(const char *text, size_t length, char out[4])
{
    static const struct {
        const char *name;
        uint32_t code;
    } names[] = {{"&amp;", '&'},       {"&lt;", '<'},       {"&gt;", '>'},
                 {"&quot;", '"'},      {"&apos;", '\''},    {"&nbsp;", 0xa0},
                 {"&copy;", 0xa9},     {"&reg;", 0xae},     {"&trade;", 0x2122},
                 {"&hellip;", 0x2026}, {"&ndash;", 0x2013}, {"&mdash;", 0x2014},
                 {"&larr;", 0x2190},   {"&rarr;", 0x2192},  {"&times;", 0xd7},
                 {"&middot;", 0xb7},   {"&bull;", 0x2022},  {"&deg;", 0xb0}};
    if (length > 3 && text[1] == '#') {
        bool hex = text[2] == 'x' || text[2] == 'X';
        return write_utf8((uint32_t)strtoul(text + (hex ? 3 : 2), NULL, hex ? 16 : 10), out);
    }
    for (size_t i = 0; i < UVH_COUNT_OF(names); i++) {
        if (strlen(names[i].name) == length && memcmp(names[i].name, text, length) == 0)
            return write_utf8(names[i].code, out);
    }
    return 0;
}

static int on_text(MD_TEXTTYPE type, const MD_CHAR *text, MD_SIZE size, void *arg)
{
    struct writer *writer = arg;
    char decoded[4];
    size_t length;
    switch (type) {
    case MD_TEXT_HTML:
        break;
    case MD_TEXT_BR:
        uvh_bytes_append_text(writer->page, writer->images > 0 ? " " : "<br>\n");
        break;
    case MD_TEXT_SOFTBR:
        uvh_bytes_append_text(writer->page, "\n");
        break;
    case MD_TEXT_ENTITY:
        length = decode(text, size, decoded);
        uvh_dir_names_html_lines(writer->page, length > 0 ? decoded : text,
                                 length > 0 ? length : size);
        break;
    default:
        uvh_dir_names_html_lines(writer->page, text, size);
    }
    return check(writer);
}

/* ---- links and images ---- */

/* A URL with its character references decoded. False when it is too long. */
static bool decode_url(const MD_ATTRIBUTE *attribute, char url[URL_MAX])
{
    size_t length = 0;
    for (size_t i = 0; attribute->size > 0 && attribute->substr_offsets[i] < attribute->size; i++) {
        const char *part = attribute->text + attribute->substr_offsets[i];
        size_t size = attribute->substr_offsets[i + 1] - attribute->substr_offsets[i];
        char decoded[4];
        size_t count =
            attribute->substr_types[i] == MD_TEXT_ENTITY ? decode(part, size, decoded) : 0;
        if (length + (count > 0 ? count : size) >= URL_MAX)
            return false;
        memcpy(url + length, count > 0 ? decoded : part, count > 0 ? count : size);
        length += count > 0 ? count : size;
    }
    url[length] = '\0';
    return true;
}

/* Browsers ignore control characters and leading spaces before they look for a scheme. */
static bool is_plain(const char *url)
{
    for (const unsigned char *at = (const unsigned char *)url; *at != '\0'; at++) {
        if (*at < 0x20 || *at == 0x7f)
            return false;
    }
    return *url != ' ';
}

static size_t scheme_length(const char *url)
{
    size_t length = strcspn(url, ":/?#");
    return url[length] == ':' ? length : 0;
}

/* `scheme` has only lower-case letters. */
static bool is_scheme(const char *url, size_t length, const char *scheme)
{
    size_t i = 0;
    while (i < length && scheme[i] != '\0' && (url[i] | 0x20) == scheme[i])
        i++;
    return i == length && scheme[i] == '\0';
}

static bool is_allowed_link(const char *url)
{
    static const char *const schemes[] = {"http", "https", "mailto"};
    size_t length = scheme_length(url);
    if (!is_plain(url))
        return false;
    for (size_t i = 0; length > 0 && i < UVH_COUNT_OF(schemes); i++) {
        if (is_scheme(url, length, schemes[i]))
            return true;
    }
    return length == 0 && url[0] != ':';
}

/* Of the same site: an image of another one would tell it who reads the page. A browser takes a
 * backslash for a slash. */
static bool is_allowed_image(const char *url)
{
    return is_plain(url) && scheme_length(url) == 0 && url[0] != ':' && url[0] != '\0' &&
           strchr(url, '\\') == NULL && strncmp(url, "//", 2) != 0;
}

static void open_link(struct writer *writer, const MD_SPAN_A_DETAIL *detail)
{
    char url[URL_MAX];
    if (writer->links++ > 0)
        return;
    bool allowed = decode_url(&detail->href, url) && is_allowed_link(url);
    writer->no_link = !allowed;
    if (!allowed)
        return;
    uvh_bytes_append_text(writer->page, "<a href=\"");
    uvh_dir_names_html(writer->page, url, strlen(url));
    uvh_bytes_append_text(writer->page, "\">");
}

static void close_link(struct writer *writer)
{
    if (--writer->links == 0 && !writer->no_link)
        uvh_bytes_append_text(writer->page, "</a>");
}

/* Without the element, the text of an image remains. `images` counts in both cases. */
static void open_image(struct writer *writer, const MD_SPAN_IMG_DETAIL *detail)
{
    char url[URL_MAX];
    if (writer->images++ > 0)
        return;
    bool allowed = decode_url(&detail->src, url) && is_allowed_image(url);
    writer->no_image = !allowed;
    if (!allowed)
        return;
    uvh_bytes_append_text(writer->page, "<img loading=\"lazy\" src=\"");
    uvh_dir_names_html(writer->page, url, strlen(url));
    uvh_bytes_append_text(writer->page, "\" alt=\"");
}

static void close_image(struct writer *writer)
{
    if (--writer->images == 0 && !writer->no_image)
        uvh_bytes_append_text(writer->page, "\">");
}

/* ---- elements ---- */

static const char *const spans[][2] = {
    [MD_SPAN_EM] = {"<em>", "</em>"},
    [MD_SPAN_STRONG] = {"<strong>", "</strong>"},
    [MD_SPAN_CODE] = {"<code>", "</code>"},
    [MD_SPAN_DEL] = {"<del>", "</del>"},
};

static bool has_element(MD_SPANTYPE type)
{
    return (size_t)type < UVH_COUNT_OF(spans) && spans[type][0] != NULL;
}

static int open_span(MD_SPANTYPE type, void *detail, void *arg)
{
    struct writer *writer = arg;
    if (writer->span_count == SPANS_MAX)
        return STOP;
    writer->spans[writer->span_count++] = (unsigned char)type;
    if (type == MD_SPAN_IMG)
        open_image(writer, detail);
    else if (writer->images > 0)
        return check(writer);
    else if (type == MD_SPAN_A)
        open_link(writer, detail);
    else if (has_element(type))
        uvh_bytes_append_text(writer->page, spans[type][0]);
    return check(writer);
}

static int close_span(MD_SPANTYPE type, void *detail, void *arg)
{
    struct writer *writer = arg;
    (void)detail;
    /* md4c 0.4.8 does not always end what it has begun, or in another order. */
    if (writer->span_count == 0 || writer->spans[--writer->span_count] != type)
        return STOP;
    if (type == MD_SPAN_IMG)
        close_image(writer);
    else if (writer->images > 0)
        return check(writer);
    else if (type == MD_SPAN_A)
        close_link(writer);
    else if (has_element(type))
        uvh_bytes_append_text(writer->page, spans[type][1]);
    return check(writer);
}

static const char *const blocks[][2] = {
    [MD_BLOCK_QUOTE] = {"<blockquote>\n", "</blockquote>\n"},
    [MD_BLOCK_UL] = {"<ul>\n", "</ul>\n"},
    [MD_BLOCK_OL] = {"<ol", "</ol>\n"},
    [MD_BLOCK_LI] = {"<li>", "</li>\n"},
    [MD_BLOCK_HR] = {"<hr>\n", ""},
    [MD_BLOCK_H] = {"<h", "</h"},
    [MD_BLOCK_CODE] = {"<pre><code>", "</code></pre>\n"},
    [MD_BLOCK_HTML] = {"", ""},
    [MD_BLOCK_P] = {"<p>", "</p>\n"},
    [MD_BLOCK_TABLE] = {"<table>\n", "</table>\n"},
    [MD_BLOCK_THEAD] = {"<thead>\n", "</thead>\n"},
    [MD_BLOCK_TBODY] = {"<tbody>\n", "</tbody>\n"},
    [MD_BLOCK_TR] = {"<tr>", "</tr>\n"},
    [MD_BLOCK_TH] = {"<th", "</th>"},
    [MD_BLOCK_TD] = {"<td", "</td>"},
};

static unsigned heading_level(const MD_BLOCK_H_DETAIL *detail)
{
    unsigned level = detail->level + FIRST_HEADING - 1;
    return level < LAST_HEADING ? level : LAST_HEADING;
}

/* What an element has beyond its name. */
static void append_detail(struct writer *writer, MD_BLOCKTYPE type, const void *detail)
{
    static const char *const alignments[] = {">", ">", " class=\"center\">", " class=\"right\">"};
    switch (type) {
    case MD_BLOCK_OL:
        uvh_bytes_append_format(writer->page, " start=\"%u\">\n",
                                ((const MD_BLOCK_OL_DETAIL *)detail)->start);
        break;
    case MD_BLOCK_LI:
        if (((const MD_BLOCK_LI_DETAIL *)detail)->is_task)
            uvh_bytes_append_text(writer->page,
                                  ((const MD_BLOCK_LI_DETAIL *)detail)->task_mark == ' '
                                      ? "\xE2\x98\x90 "
                                      : "\xE2\x98\x91 ");
        break;
    case MD_BLOCK_H:
        uvh_bytes_append_format(writer->page, "%u>", heading_level(detail));
        break;
    case MD_BLOCK_TH:
    case MD_BLOCK_TD:
        uvh_bytes_append_text(writer->page,
                              alignments[((const MD_BLOCK_TD_DETAIL *)detail)->align & 3]);
        break;
    default:
        break;
    }
}

static int open_block(MD_BLOCKTYPE type, void *detail, void *arg)
{
    struct writer *writer = arg;
    if ((size_t)type >= UVH_COUNT_OF(blocks) || blocks[type][0] == NULL)
        return 0;
    if (writer->span_count > 0)
        return STOP;
    writer->depth++;
    uvh_bytes_append_text(writer->page, blocks[type][0]);
    append_detail(writer, type, detail);
    return check(writer);
}

static int close_block(MD_BLOCKTYPE type, void *detail, void *arg)
{
    struct writer *writer = arg;
    if ((size_t)type >= UVH_COUNT_OF(blocks) || blocks[type][0] == NULL)
        return 0;
    if (writer->span_count > 0)
        return STOP;
    writer->depth--;
    uvh_bytes_append_text(writer->page, blocks[type][1]);
    if (type == MD_BLOCK_H)
        uvh_bytes_append_format(writer->page, "%u>\n", heading_level(detail));
    return check(writer);
}

bool uvh_dir_markdown_append(struct uvh_bytes *page, const char *text, size_t length)
{
    const MD_PARSER parser = {
        .flags = MD_DIALECT_GITHUB,
        .enter_block = open_block,
        .leave_block = close_block,
        .enter_span = open_span,
        .leave_span = close_span,
        .text = on_text,
    };
    struct writer writer = {.page = page, .begin = page->length};
    if (md_parse(text, (MD_SIZE)length, &parser, &writer) == 0)
        return true;
    page->length = writer.begin;
    return false;
}

#else

bool uvh_dir_markdown_append(struct uvh_bytes *page, const char *text, size_t length)
{
    (void)page, (void)text, (void)length;
    return false;
}

#endif

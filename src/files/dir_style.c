/* Plain CSS: system fonts, no external resources. Text has a contrast of at least 4.5 to 1 in both
 * schemes (WCAG 2.2, 1.4.3). */
#include "files/dir_style.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"

static const char style[] =
    ":root { color-scheme: light dark; --text: #1d2126; --soft: #59626d; --line: #d9dee4;\n"
    "  --link: #0b57a4; --page: #fff; --band: #f4f6f8; }\n"
    "@media (prefers-color-scheme: dark) {\n"
    "  :root { --text: #e4e7eb; --soft: #9aa4b0; --line: #343b44; --link: #86bdf5; --page: "
    "#15181c;\n"
    "    --band: #1d2127; }\n"
    "}\n"
    "* { box-sizing: border-box; }\n"
    "body { margin: 0 auto; max-width: 62rem; padding: 1.5rem 1rem 3rem; background: var(--page);\n"
    "  color: var(--text); font: 1rem/1.5 system-ui, sans-serif; -webkit-text-size-adjust: 100%; "
    "}\n"
    "nav { font-size: .9375rem; overflow-wrap: anywhere; }\n"
    "h1 { margin: 0; font-size: 1.35rem; line-height: 1.35; overflow-wrap: anywhere; }\n"
    "a { color: var(--link); text-decoration: none; border-radius: 2px; }\n"
    "a:hover { text-decoration: underline; }\n"
    "a:focus-visible, input:focus-visible, button:focus-visible { outline: 2px solid var(--link);\n"
    "  outline-offset: 2px; }\n"
    "p { margin: .25rem 0; color: var(--soft); }\n"
    "data ~ a { margin-left: .75rem; }\n"
    ".tools { display: flex; flex-wrap: wrap; gap: .25rem 1.5rem; align-items: baseline;\n"
    "  justify-content: space-between; margin-bottom: .5rem; }\n"
    "form { display: flex; gap: .5rem; max-width: 100%; margin: .25rem 0; }\n"
    "input, button { min-width: 0; min-height: 2.25rem; padding: .25rem .6rem; font: inherit;\n"
    "  border: 1px solid var(--soft); border-radius: 4px; background: var(--page);\n"
    "  color: var(--text); }\n"
    "button { background: var(--band); cursor: pointer; }\n"
    "::placeholder { color: var(--soft); opacity: 1; }\n"
    ".rows { width: 100%; border-collapse: collapse; font-variant-numeric: tabular-nums; }\n"
    ".rows th, .rows td { padding: .35rem .5rem; border-bottom: 1px solid var(--line);\n"
    "  text-align: right; vertical-align: baseline; white-space: nowrap; }\n"
    ".rows th { font-weight: 600; }\n"
    ".rows th:first-child, .rows td:first-child { width: 100%; text-align: left; }\n"
    ".rows td:first-child { overflow-wrap: anywhere; white-space: pre-wrap; }\n"
    ".rows td:nth-child(n+2) { color: var(--soft); }\n"
    "th[aria-sort=ascending] a::after { content: \" \\2191\"; }\n"
    "th[aria-sort=descending] a::after { content: \" \\2193\"; }\n"
    ".rows tbody tr:hover { background: var(--band); }\n"
    ".directory a { font-weight: 600; }\n"
    "svg { width: 1em; height: 1em; margin-right: .5em; vertical-align: -.1em; fill: none; "
    "stroke: var(--soft); }\n"
    ".directory svg { stroke: var(--link); }\n"
    ".shapes { display: none; }\n"
    "section { margin-top: 2rem; border: 1px solid var(--line); border-radius: 6px;\n"
    "  overflow: hidden; }\n"
    "h2 { margin: 0; padding: .5rem 1rem; font-size: 1rem; border-bottom: 1px solid var(--line);\n"
    "  background: var(--band); }\n"
    "section > p { padding: 0 1rem 1rem; }\n"
    "pre, code { font-family: ui-monospace, monospace; font-size: .9em; }\n"
    "pre { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; }\n"
    "article { padding: 1rem; overflow-wrap: anywhere; }\n"
    "article > :first-child { margin-top: 0; }\n"
    "article > :last-child { margin-bottom: 0; }\n"
    "article p, article ul, article ol, article table, article pre, blockquote { margin: 0 0 "
    ".75rem;\n"
    "  color: inherit; }\n"
    "h3, h4, h5, h6 { margin: 1.25rem 0 .5rem; line-height: 1.3; }\n"
    "h3 { font-size: 1.35rem; }\n"
    "h4 { font-size: 1.15rem; }\n"
    "h5, h6 { font-size: 1rem; }\n"
    "article a { text-decoration: underline; }\n"
    "article ul, article ol { padding-left: 1.5rem; }\n"
    "article code { padding: .1em .3em; border-radius: 3px; background: var(--band); }\n"
    "article pre code { display: block; padding: .75rem; font-size: 1em; }\n"
    "blockquote { padding-left: .75rem; border-left: 3px solid var(--line); }\n"
    "article table { display: block; overflow-x: auto; overflow-wrap: break-word;\n"
    "  border-collapse: collapse; }\n"
    "article th, article td { padding: .25rem .6rem; border: 1px solid var(--line);\n"
    "  text-align: left; }\n"
    "article .center { text-align: center; }\n"
    "article .right { text-align: right; }\n"
    "img { max-width: 100%; height: auto; }\n"
    "hr { border: 0; border-top: 1px solid var(--line); }\n"
    "@media (max-width: 36rem) {\n"
    "  body { padding: 1rem .75rem 2rem; }\n"
    "  .rows th, .rows td { padding: .5rem .25rem; }\n"
    "  .rows th:nth-child(n+2), .rows td:nth-child(n+2) { font-size: .875rem; }\n"
    "  .rows th span, time span { display: none; }\n"
    "}\n";

static const char script[] =
    "\"use strict\";\n"
    "const two = (number) => String(number).padStart(2, \"0\");\n"
    "for (const time of document.querySelectorAll(\"td time\")) {\n"
    "  const date = new Date(time.dateTime);\n"
    "  time.title = `${time.textContent} UTC`;\n"
    "  time.firstChild.data =\n"
    "    `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;\n"
    "  time.lastChild.textContent = ` ${two(date.getHours())}:${two(date.getMinutes())}`;\n"
    "}\n"
    "document.querySelector(\"th:last-child span\")?.remove();\n";

enum { VERSION_SIZE = 9 };

/* Eight hexadecimal digits that change with the style sheet or the script. */
static void write_version(char version[VERSION_SIZE])
{
    uint64_t hash = uvh_hash(style, sizeof(style) - 1, uvh_hash(script, sizeof(script) - 1, 0));
    snprintf(version, VERSION_SIZE, "%08lx", (unsigned long)(hash & 0xffffffff));
}

void uvh_dir_style_append_head(struct uvh_bytes *page)
{
    char version[VERSION_SIZE];
    write_version(version);
    uvh_bytes_append_format(
        page,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"color-scheme\" content=\"light dark\">\n"
        "<link rel=\"stylesheet\" href=\"?format=css&amp;v=%s\">\n",
        version);
}

bool uvh_dir_style_is_requested(uvhttp_request_t *request)
{
    static const char begin[] = "format=css&v=";
    char version[VERSION_SIZE];
    uvhttp_slice_t query = uvhttp_request_query_string(request);
    size_t length = sizeof(begin) - 1;
    if (query.length != length + VERSION_SIZE - 1 || memcmp(query.base, begin, length) != 0)
        return false;
    write_version(version);
    return memcmp(query.base + length, version, VERSION_SIZE - 1) == 0;
}

void uvh_dir_style_append_script(const char *nonce, struct uvh_bytes *page)
{
    char version[VERSION_SIZE];
    write_version(version);
    uvh_bytes_append_format(
        page, "<script defer nonce=\"%s\" src=\"?format=js&amp;v=%s\"></script>\n", nonce, version);
}

static int respond(uvhttp_response_t *response, const char *type, const char *text, size_t length)
{
    int err = uvhttp_response_set_header(response, "Cache-Control",
                                         "public, max-age=31536000, immutable");
    return err != 0 ? err : uvhttp_response_send_static(response, 200, type, text, length);
}

int uvh_dir_style_respond(uvhttp_response_t *response)
{
    return respond(response, "text/css; charset=utf-8", style, sizeof(style) - 1);
}

int uvh_dir_style_respond_script(uvhttp_response_t *response)
{
    return respond(response, "text/javascript; charset=utf-8", script, sizeof(script) - 1);
}

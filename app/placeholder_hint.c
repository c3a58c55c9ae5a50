/* See placeholder_hint.h. */
#include "placeholder_hint.h"

#include <string.h>

static const struct {
    const char *foreign, *ours;
} hints[] = {
    {"$1", "{rest}"},
    {"$args", "{query}"},
    {"$document_uri", "{path}"},
    {"$host", "{host}"},
    {"$http_host", "{host}"},
    {"$is_args", "{query}"},
    {"$query_string", "{query}"},
    {"$remote_addr", "{client}"},
    {"$request_method", "{method}"},
    {"$request_uri", "{target}"},
    {"$scheme", "{scheme}"},
    {"$server_name", "{host}"},
    {"$uri", "{path}"},
    {"{hostport}", "{host}"},
    {"{http.request.host}", "{host}"},
    {"{http.request.hostport}", "{host}"},
    {"{http.request.method}", "{method}"},
    {"{http.request.orig_uri}", "{target}"},
    {"{http.request.orig_uri.path}", "{path}"},
    {"{http.request.orig_uri.query}", "{query}"},
    {"{http.request.remote.host}", "{client}"},
    {"{http.request.scheme}", "{scheme}"},
    {"{http.request.uri}", "{target}"},
    {"{http.request.uri.path}", "{path}"},
    {"{http.request.uri.query}", "{query}"},
    {"{remote_host}", "{client}"},
    {"{uri}", "{target}"},
};

#define WORD "abcdefghijklmnopqrstuvwxyz0123456789_"

static size_t length_of(const char *text)
{
    if (*text == '$')
        return 1 + strspn(text + 1, WORD);
    size_t length = *text == '{' ? 1 + strspn(text + 1, WORD "ABCDEFGHIJKLMNOPQRSTUVWXYZ.-") : 0;
    return length > 0 && text[length] == '}' ? length + 1 : 0;
}

const char *uvh_placeholder_hint(const char *text, size_t *length)
{
    *length = length_of(text);
    if (strncmp(text, "$1$", 3) == 0) /* the hash of a password */
        return NULL;
    for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++) {
        if (strlen(hints[i].foreign) == *length && memcmp(hints[i].foreign, text, *length) == 0)
            return hints[i].ours;
    }
    return NULL;
}

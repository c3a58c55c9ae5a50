/* Formats one line for the log callback if its level is enabled, cut to size and without control
 * characters, since logged values come from clients. Includes a default callback. */
#include "server/server.h"

#include <stdio.h>

#include <uvhttp/embedding.h>

#include "platform/clock.h"

enum { LINE_SIZE = 1001 };

/* Writes `text` to `line` with control characters as \xNN. */
static void escape(const char *text, char *line, size_t size)
{
    static const char digits[] = "0123456789abcdef";
    size_t length = 0;
    for (; *text != '\0' && length + 5 < size; text++) {
        unsigned char byte = (unsigned char)*text;
        if (byte >= ' ' && byte != 0x7f) {
            line[length++] = (char)byte;
            continue;
        }
        line[length++] = '\\';
        line[length++] = 'x';
        line[length++] = digits[byte >> 4];
        line[length++] = digits[byte & 15];
    }
    line[length] = '\0';
}

void uvh_server_log_list(struct uvh_server *server, uvhttp_log_level_t level, const char *format,
                         va_list arguments)
{
    if (format == NULL || !uvh_server_logs(server, level))
        return;
    char text[LINE_SIZE], line[LINE_SIZE];
    vsnprintf(text, sizeof(text), format, arguments);
    escape(text, line, sizeof(line));
    server->config.log(level, line, server->config.log_arg);
}

void uvh_server_log(struct uvh_server *server, uvhttp_log_level_t level, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    uvh_server_log_list(server, level, format, arguments);
    va_end(arguments);
}

void uvhttp_server_log(uvhttp_server_t *server, uvhttp_log_level_t level, const char *format, ...)
{
    va_list arguments;
    if (server == NULL)
        return;
    va_start(arguments, format);
    uvh_server_log_list(uvh_server_of(server), level, format, arguments);
    va_end(arguments);
}

static const char *level_name(uvhttp_log_level_t level)
{
    switch (level) {
    case UVHTTP_LOG_ERROR:
        return "error";
    case UVHTTP_LOG_WARNING:
        return "warning";
    case UVHTTP_LOG_INFO:
        return "info";
    case UVHTTP_LOG_DEBUG:
        return "debug";
    }
    return "note";
}

void uvh_log_problems(uvhttp_log_level_t level, const char *message, void *arg)
{
    (void)arg;
    if (level <= UVHTTP_LOG_WARNING)
        uvhttp_log_to_stderr(level, message, NULL);
}

void uvhttp_log_to_stderr(uvhttp_log_level_t level, const char *message, void *arg)
{
    const uvhttp_log_level_t *wanted = arg;
    if (message == NULL || (wanted != NULL && level > *wanted))
        return;
    char stamp[UVH_CLOCK_STAMP_SIZE], line[LINE_SIZE + 64];
    uvh_clock_stamp(uvh_clock_unix_ms() / 1000, stamp);
    snprintf(line, sizeof(line), "%s %s %.*s\n", stamp, level_name(level), LINE_SIZE - 1, message);
    fputs(line, stderr); /* in one call, so that lines of several writers do not mix */
}

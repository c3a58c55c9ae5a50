/* One line to the user's log callback: formatted, cut, and free of control characters, since logged values come from outside. */
#include "server/server.h"

#include <stdio.h>

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
    if (server->config.log == NULL)
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

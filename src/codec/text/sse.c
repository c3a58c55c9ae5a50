/* Formats server-sent events, see uvhttp/sse.h. The same functions compute the length and write, so
 * that both always agree. Called by users, and to send events. */
#include <uvhttp/sse.h>

#include <stdio.h>
#include <string.h>

/* `base` NULL: only computes the length. */
struct output {
    char *base;
    size_t length;
};

static void put(struct output *output, const char *bytes, size_t length)
{
    if (output->base != NULL && length > 0)
        memcpy(output->base + output->length, bytes, length);
    output->length += length;
}

static void put_line(struct output *output, const char *name, const char *bytes, size_t length)
{
    put(output, name, strlen(name));
    /* The client removes one space, so without it a space at the start of the text would be
     * lost. */
    put(output, ": ", 2);
    put(output, bytes, length);
    put(output, "\n", 1);
}

/* One line for each line of the text; after a final line end comes an empty line. */
static void put_lines(struct output *output, const char *name, uvhttp_slice_t text)
{
    if (text.base == NULL)
        return;
    size_t start = 0;
    for (size_t i = 0; i < text.length; i++) {
        char c = text.base[i];
        if (c != '\r' && c != '\n')
            continue;
        put_line(output, name, text.base + start, i - start);
        if (c == '\r' && i + 1 < text.length && text.base[i + 1] == '\n')
            i++;
        start = i + 1;
    }
    put_line(output, name, text.base + start, text.length - start);
}

static void put_event(struct output *output, const uvhttp_sse_event_t *event)
{
    put_lines(output, "", event->comment);
    put_lines(output, "id", event->id);
    put_lines(output, "event", event->event);
    if (event->retry_ms > 0) {
        char digits[sizeof "4294967295"];
        int length = snprintf(digits, sizeof digits, "%u", (unsigned)event->retry_ms);
        put_line(output, "retry", digits, (size_t)length);
    }
    put_lines(output, "data", event->data);
    put(output, "\n", 1);
}

static bool is_one_line(uvhttp_slice_t text)
{
    for (size_t i = 0; i < text.length; i++) {
        if (text.base[i] == '\0' || text.base[i] == '\r' || text.base[i] == '\n')
            return false;
    }
    return true;
}

ptrdiff_t uvhttp_sse_encode(const uvhttp_sse_event_t *event, char *out, size_t size)
{
    if (event == NULL || !is_one_line(event->id) || !is_one_line(event->event))
        return -1;
    struct output output = {NULL, 0};
    put_event(&output, event);
    if (out != NULL && output.length <= size) {
        output.base = out;
        output.length = 0;
        put_event(&output, event);
    }
    return (ptrdiff_t)output.length;
}

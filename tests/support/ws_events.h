/* The events of a WebSocket reader as one text that does not depend on how the input is split:
 *
 *     text(Hello)  binary*(...)  ping(...)  pong(...)  close(1000 bye)  bad(1002 a reserved bit is
 *                  set)
 *
 * A star means compressed. A fragmented message may have control frames between its bytes. */
#ifndef UVH_TESTS_WS_EVENTS_H
#define UVH_TESTS_WS_EVENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/websocket/reader.h"

struct ws_events {
    char *text;
    size_t length;
    size_t capacity;
    bool bad;     /* protocol error; no event follows */
    bool broken;  /* the reader has violated its contract */
    bool in_text; /* between the first and the last chunk of a message */
    char control[UVH_WS_CONTROL_MAX];
};

/* Reserves space for the events of up to `size` bytes of frames. Ends the process when there is no
 * memory. */
static inline void ws_events_init(struct ws_events *events, size_t size)
{
    memset(events, 0, sizeof *events);
    events->capacity = 16 * size + 512;
    events->text = malloc(events->capacity);
    if (events->text == NULL)
        abort();
}

static inline void ws_events_add(struct ws_events *events, const char *bytes, size_t size)
{
    if (size > events->capacity - events->length)
        abort();
    if (size > 0)
        memcpy(events->text + events->length, bytes, size);
    events->length += size;
}

static inline void ws_events_add_text(struct ws_events *events, const char *text)
{
    ws_events_add(events, text, strlen(text));
}

static inline void ws_events_add_chunk(struct ws_events *events, const struct uvh_ws_event *event)
{
    if (event->first != !events->in_text)
        events->broken = true;
    if (event->first) {
        ws_events_add_text(events, event->text ? "text" : "binary");
        ws_events_add_text(events, event->compressed ? "*(" : "(");
    }
    ws_events_add(events, event->data, event->size);
    if (event->last)
        ws_events_add_text(events, ")");
    events->in_text = !event->last;
}

static inline void ws_events_add_event(struct ws_events *events, const struct uvh_ws_event *event)
{
    char line[160];
    if (event->kind == UVH_WS_EVENT_CHUNK) {
        ws_events_add_chunk(events, event);
    } else if (event->kind == UVH_WS_EVENT_BAD) {
        snprintf(line, sizeof line, "bad(%u %s)", (unsigned)event->code, event->reason);
        ws_events_add_text(events, line);
        events->bad = true;
    } else if (event->kind == UVH_WS_EVENT_CLOSE) {
        snprintf(line, sizeof line, "close(%u ", (unsigned)event->code);
        ws_events_add_text(events, line);
    } else if (event->kind == UVH_WS_EVENT_PING || event->kind == UVH_WS_EVENT_PONG) {
        ws_events_add_text(events, event->kind == UVH_WS_EVENT_PING ? "ping(" : "pong(");
    }
    bool control = event->kind == UVH_WS_EVENT_PING || event->kind == UVH_WS_EVENT_PONG ||
                   event->kind == UVH_WS_EVENT_CLOSE;
    if (control) {
        ws_events_add(events, event->data, event->size);
        ws_events_add_text(events, ")");
    }
}

/* Reads all of `data`, which is modified, or up to a protocol error. Sets the buffer for control
 * frames when the reader requests it, and clears it after each frame. */
static inline void ws_events_read(struct ws_events *events, struct uvh_ws_reader *reader,
                                  const struct uvh_ws_rules *rules, char *data, size_t size)
{
    while (!events->bad) {
        struct uvh_ws_event event;
        memset(&event, 0xee, sizeof event);
        size_t used = uvh_ws_reader_next(reader, rules, data, size, &event);
        if (used > size)
            events->broken = true;
        if (event.kind == UVH_WS_EVENT_MORE) {
            if (used != size)
                events->broken = true;
            return;
        }
        if (event.kind == UVH_WS_EVENT_SIZE) {
            if (used != 0 || reader->control != NULL)
                events->broken = true;
            reader->control = events->control;
        } else {
            ws_events_add_event(events, &event);
            if (event.kind != UVH_WS_EVENT_CHUNK)
                reader->control = NULL;
        }
        if (events->broken)
            return;
        data += used;
        size -= used;
    }
}

#endif

/* A client of HTTP/2 for tests: appends frames to `out`, and checks every frame in `in` against
 * what was sent. It knows nothing of the server's state but what the frames say.
 *
 * Invariants: `wrong` is NULL until the server violates a rule of RFC 9113, and then says which.
 * The windows are those that the server may use at its place in its output: settings count from
 * their acknowledgement on, WINDOW_UPDATE frames from the moment they are appended. Streams above
 * H2_PEER_STREAMS are not checked. */
#ifndef UVH_SUPPORT_H2_PEER_H
#define UVH_SUPPORT_H2_PEER_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "codec/http2/frame.h"
#include "codec/http2/hpack.h"

enum {
    H2_PEER_STREAMS = 512,
    H2_PEER_SETTINGS = 256, /* frames without acknowledgement */
    H2_PEER_UNCHANGED = -1,
};

struct h2_peer_stream {
    int64_t window; /* without the initial window */
    uint64_t body;  /* bytes received */
    uint64_t content_length;
    uint64_t wrong_bytes; /* of a body with status 200, see h2_peer_byte */
    int status;           /* final; 0: none yet */
    bool opened;
    bool has_length;
    bool is_head; /* the request's method */
    bool ended;   /* by the client */
    bool reset;   /* by the client */
    bool server_ended;
    bool server_reset;
    bool has_trailers;
    uint32_t server_error; /* of RST_STREAM */
};

struct h2_peer {
    char *out;
    size_t out_length, out_checked, out_capacity;
    char *in;
    size_t in_length, in_checked, in_capacity;
    const char *wrong;
    bool began; /* the preface is checked */
    bool settings_received;
    bool out_broken; /* what the client sends is no sequence of frames */
    bool goaway_received;
    uint32_t goaway_last, goaway_error;
    uint32_t last;      /* highest stream the client has opened */
    uint32_t out_block; /* of the client, incomplete; 0: none */
    int64_t initial;    /* of streams, acknowledged */
    int64_t settings[H2_PEER_SETTINGS];
    size_t settings_sent, settings_acknowledged;
    int64_t window;      /* of the connection */
    int64_t upload;      /* bytes that the server permits */
    int64_t upload_most; /* ... at most */
    uint64_t pings;      /* acknowledged */
    char block[1 << 17]; /* of the server, incomplete */
    size_t block_length;
    uint32_t block_stream;
    bool block_ends;
    struct uvh_hpack_decoder decoder;
    char *table;
    struct h2_peer_stream streams[H2_PEER_STREAMS];
};

static inline void h2_peer_init(struct h2_peer *peer)
{
    memset(peer, 0, sizeof(*peer));
    peer->initial = peer->window = peer->upload = UVH_H2_WINDOW;
    peer->upload_most = INT64_MAX;
    peer->goaway_last = UVH_H2_STREAM_MAX;
    uvh_hpack_decoder_init(&peer->decoder, UVH_HPACK_CAPACITY_MIN);
}

static inline void h2_peer_release(struct h2_peer *peer)
{
    free(peer->out);
    free(peer->in);
    free(peer->decoder.memory);
}

static inline struct h2_peer_stream *h2_peer_stream(struct h2_peer *peer, uint32_t id)
{
    return (id & 1) == 1 && id / 2 < H2_PEER_STREAMS ? &peer->streams[id / 2] : NULL;
}

static inline void h2_peer_require(struct h2_peer *peer, bool condition, const char *rule)
{
    if (!condition && peer->wrong == NULL)
        peer->wrong = rule;
}

/* The byte of every body at an offset. */
static inline char h2_peer_byte(uint64_t offset)
{
    return (char)(offset * 31 + offset / 4096);
}

/* Makes space for `more` bytes. */
static inline void h2_peer_reserve(char **bytes, size_t *capacity, size_t length, size_t more)
{
    if (*capacity - length >= more)
        return;
    *capacity = 2 * (length + more);
    *bytes = realloc(*bytes, *capacity);
}

/* ---- what the client sends ---- */

static inline void h2_peer_note_sent_settings(struct h2_peer *peer, const char *payload,
                                              uint32_t length)
{
    int64_t window = H2_PEER_UNCHANGED;
    for (uint32_t at = 0; at + UVH_H2_SETTING_SIZE <= length; at += UVH_H2_SETTING_SIZE) {
        if (payload[at] == 0 && payload[at + 1] == UVH_H2_INITIAL_WINDOW_SIZE)
            window = uvh_h2_number(payload + at + 2);
    }
    if (peer->settings_sent - peer->settings_acknowledged == H2_PEER_SETTINGS)
        peer->out_broken = true;
    else
        peer->settings[peer->settings_sent++ % H2_PEER_SETTINGS] = window;
}

static inline void h2_peer_note_sent(struct h2_peer *peer, const struct uvh_h2_frame *frame,
                                     const char *payload)
{
    struct h2_peer_stream *stream = h2_peer_stream(peer, frame->stream);
    bool ends = (frame->flags & UVH_H2_END_STREAM) != 0;
    if (frame->type == UVH_H2_HEADERS || frame->type == UVH_H2_CONTINUATION)
        peer->out_block = (frame->flags & UVH_H2_END_HEADERS) != 0 ? 0 : frame->stream;
    if (frame->type == UVH_H2_HEADERS && frame->stream > peer->last) {
        peer->last = frame->stream;
        if (stream != NULL)
            stream->opened = true;
    }
    if (stream != NULL && ends && (frame->type == UVH_H2_HEADERS || frame->type == UVH_H2_DATA))
        stream->ended = true;
    if (stream != NULL && frame->type == UVH_H2_RST_STREAM)
        stream->reset = true;
    if (frame->type == UVH_H2_DATA)
        peer->upload -= frame->length;
    if (frame->type == UVH_H2_WINDOW_UPDATE && frame->length == 4) {
        if (frame->stream == 0)
            peer->window += uvh_h2_number31(payload);
        else if (stream != NULL)
            stream->window += uvh_h2_number31(payload);
    }
    if (frame->type == UVH_H2_SETTINGS && (frame->flags & UVH_H2_ACK) == 0)
        h2_peer_note_sent_settings(peer, payload, frame->length);
}

/* Appends any bytes. */
static inline void h2_peer_put(struct h2_peer *peer, const void *bytes, size_t size)
{
    h2_peer_reserve(&peer->out, &peer->out_capacity, peer->out_length, size);
    if (size > 0)
        memcpy(peer->out + peer->out_length, bytes, size);
    peer->out_length += size;
    if (!peer->began && peer->out_length >= UVH_H2_PREFACE_SIZE) {
        peer->began = true;
        peer->out_checked = UVH_H2_PREFACE_SIZE;
        peer->out_broken = memcmp(peer->out, UVH_H2_PREFACE, UVH_H2_PREFACE_SIZE) != 0;
    }
    while (peer->began && !peer->out_broken &&
           peer->out_length - peer->out_checked >= UVH_H2_HEAD_SIZE) {
        const char *at = peer->out + peer->out_checked;
        struct uvh_h2_frame frame = uvh_h2_frame_read(at);
        if (peer->out_length - peer->out_checked < UVH_H2_HEAD_SIZE + (size_t)frame.length)
            break;
        h2_peer_note_sent(peer, &frame, at + UVH_H2_HEAD_SIZE);
        peer->out_checked += UVH_H2_HEAD_SIZE + frame.length;
    }
}

static inline void h2_peer_frame(struct h2_peer *peer, unsigned type, unsigned flags,
                                 uint32_t stream, const void *payload, size_t size)
{
    char head[UVH_H2_HEAD_SIZE];
    struct uvh_h2_frame frame = {
        .length = (uint32_t)size, .type = (uint8_t)type, .flags = (uint8_t)flags, .stream = stream};
    uvh_h2_write_head(head, &frame);
    h2_peer_reserve(&peer->out, &peer->out_capacity, peer->out_length, sizeof(head) + size);
    h2_peer_put(peer, head, sizeof(head));
    h2_peer_put(peer, payload, size);
}

static inline void h2_peer_begin(struct h2_peer *peer)
{
    h2_peer_put(peer, UVH_H2_PREFACE, UVH_H2_PREFACE_SIZE);
    h2_peer_frame(peer, UVH_H2_SETTINGS, 0, 0, "", 0);
}

/* A frame whose payload is one number: WINDOW_UPDATE, RST_STREAM. */
static inline void h2_peer_number(struct h2_peer *peer, unsigned type, uint32_t stream,
                                  uint32_t number)
{
    const unsigned char payload[4] = {(unsigned char)(number >> 24), (unsigned char)(number >> 16),
                                      (unsigned char)(number >> 8), (unsigned char)number};
    h2_peer_frame(peer, type, 0, stream, payload, sizeof(payload));
}

static inline void h2_peer_setting(struct h2_peer *peer, unsigned id, uint32_t value)
{
    const unsigned char payload[6] = {(unsigned char)(id >> 8),     (unsigned char)id,
                                      (unsigned char)(value >> 24), (unsigned char)(value >> 16),
                                      (unsigned char)(value >> 8),  (unsigned char)value};
    h2_peer_frame(peer, UVH_H2_SETTINGS, 0, 0, payload, sizeof(payload));
}

/* ---- what the server sends ---- */

static inline void h2_peer_check_response(struct h2_peer *peer, struct h2_peer_stream *stream,
                                          int status, bool ends)
{
    if (stream->status != 0) { /* trailers */
        h2_peer_require(peer, status == 0, "a status in trailers");
        h2_peer_require(peer, ends, "trailers do not end the stream");
        stream->has_trailers = true;
    } else {
        h2_peer_require(peer, status != 0, "a response without a status");
        h2_peer_require(peer, status >= 200 || !ends, "an interim response ends the stream");
        stream->status = status >= 200 ? status : 0;
    }
}

/* A complete field block. */
static inline void h2_peer_check_block(struct h2_peer *peer)
{
    struct h2_peer_stream *stream = h2_peer_stream(peer, peer->block_stream);
    const char *at = peer->block, *end = peer->block + peer->block_length;
    static char line[1 << 17];
    struct uvh_hpack_field field;
    enum uvh_hpack_result result;
    int status = 0;
    uvh_hpack_begin(&peer->decoder);
    while ((result = uvh_hpack_decode(&peer->decoder, &at, end, line, sizeof(line), &field)) ==
           UVH_HPACK_FIELD) {
        h2_peer_require(peer, !field.malformed, "a malformed field");
        const char *value = line + field.name_length + 2;
        if (field.id == UVH_HPACK_STATUS)
            status = (int)strtol(value, NULL, 10);
        if (field.id == UVHTTP_FIELD_CONTENT_LENGTH && stream != NULL) {
            stream->has_length = true;
            stream->content_length = strtoull(value, NULL, 10);
        }
    }
    h2_peer_require(peer, result == UVH_HPACK_DONE, "a field block is invalid");
    if (stream != NULL)
        h2_peer_check_response(peer, stream, status, peer->block_ends);
}

static inline void h2_peer_check_end(struct h2_peer *peer, struct h2_peer_stream *stream)
{
    if (stream == NULL)
        return;
    stream->server_ended = true;
    h2_peer_require(peer, stream->status != 0, "a stream ends without a response");
    if (stream->has_length && !stream->is_head && stream->status != 304)
        h2_peer_require(peer, stream->body == stream->content_length,
                        "the body has another length than Content-Length");
}

/* A frame of a response. */
static inline bool h2_peer_check_open(struct h2_peer *peer, uint32_t id)
{
    struct h2_peer_stream *stream = h2_peer_stream(peer, id);
    h2_peer_require(peer, (id & 1) == 1 && id <= peer->last, "a response on an idle stream");
    h2_peer_require(peer, id <= peer->goaway_last, "a response above the last stream of GOAWAY");
    if (stream == NULL)
        return false;
    h2_peer_require(peer, stream->opened, "a response on a stream that was not opened");
    h2_peer_require(peer, !stream->server_ended, "a response after END_STREAM");
    h2_peer_require(peer, !stream->server_reset, "a response after RST_STREAM");
    return true;
}

static inline void h2_peer_check_headers(struct h2_peer *peer, const struct uvh_h2_frame *frame,
                                         const char *payload)
{
    if (frame->type == UVH_H2_HEADERS) {
        h2_peer_check_open(peer, frame->stream);
        h2_peer_require(peer, (frame->flags & (UVH_H2_PADDED | UVH_H2_PRIORITIZED)) == 0,
                        "padding or priority");
        peer->block_length = 0;
        peer->block_stream = frame->stream;
        peer->block_ends = (frame->flags & UVH_H2_END_STREAM) != 0;
    }
    h2_peer_require(peer, peer->block_stream == frame->stream, "CONTINUATION of another stream");
    if (peer->block_length + frame->length > sizeof(peer->block)) {
        h2_peer_require(peer, false, "a field block is very large");
        return;
    }
    memcpy(peer->block + peer->block_length, payload, frame->length);
    peer->block_length += frame->length;
    if ((frame->flags & UVH_H2_END_HEADERS) == 0)
        return;
    h2_peer_check_block(peer);
    if (peer->block_ends)
        h2_peer_check_end(peer, h2_peer_stream(peer, peer->block_stream));
    peer->block_stream = 0;
}

static inline void h2_peer_check_data(struct h2_peer *peer, const struct uvh_h2_frame *frame,
                                      const char *payload)
{
    struct h2_peer_stream *stream = h2_peer_stream(peer, frame->stream);
    peer->window -= frame->length;
    h2_peer_require(peer, frame->length == 0 || peer->window >= 0,
                    "more data than the window of the connection");
    if (!h2_peer_check_open(peer, frame->stream))
        return;
    h2_peer_require(peer, stream->status != 0, "data before the response");
    h2_peer_require(peer, (frame->flags & UVH_H2_PADDED) == 0, "padding");
    stream->window -= frame->length;
    h2_peer_require(peer, frame->length == 0 || stream->window + peer->initial >= 0,
                    "more data than the window of the stream");
    h2_peer_require(peer, !stream->is_head || frame->length == 0, "a response to HEAD has data");
    for (uint32_t i = 0; stream->status == 200 && i < frame->length; i++)
        stream->wrong_bytes += payload[i] != h2_peer_byte(stream->body + i);
    stream->body += frame->length;
    if ((frame->flags & UVH_H2_END_STREAM) != 0)
        h2_peer_check_end(peer, stream);
}

static inline void h2_peer_check_reset(struct h2_peer *peer, const struct uvh_h2_frame *frame,
                                       const char *payload)
{
    struct h2_peer_stream *stream = h2_peer_stream(peer, frame->stream);
    h2_peer_require(peer, frame->stream != 0 && frame->stream <= peer->last,
                    "RST_STREAM on an idle stream");
    if (stream == NULL)
        return;
    stream->server_reset = true;
    stream->server_error = uvh_h2_number(payload);
}

static inline void h2_peer_check_window(struct h2_peer *peer, const struct uvh_h2_frame *frame,
                                        const char *payload)
{
    uint32_t increment = uvh_h2_number31(payload);
    h2_peer_require(peer, increment > 0, "WINDOW_UPDATE by 0");
    h2_peer_require(peer, frame->stream <= peer->last, "WINDOW_UPDATE on an idle stream");
    if (frame->stream != 0)
        return;
    peer->upload += increment;
    h2_peer_require(peer, peer->upload <= peer->upload_most, "the window for uploads is too large");
}

static inline void h2_peer_check_settings(struct h2_peer *peer, const struct uvh_h2_frame *frame)
{
    if ((frame->flags & UVH_H2_ACK) == 0) {
        h2_peer_require(peer, !peer->settings_received, "SETTINGS a second time");
        peer->settings_received = true;
        return;
    }
    h2_peer_require(peer, peer->settings_acknowledged < peer->settings_sent,
                    "an acknowledgement without SETTINGS");
    int64_t window = peer->settings[peer->settings_acknowledged++ % H2_PEER_SETTINGS];
    if (window != H2_PEER_UNCHANGED)
        peer->initial = window;
}

static inline void h2_peer_check_goaway(struct h2_peer *peer, const char *payload)
{
    uint32_t last = uvh_h2_number31(payload);
    h2_peer_require(peer, last <= peer->goaway_last, "GOAWAY raises the last stream");
    peer->goaway_received = true;
    peer->goaway_last = last;
    peer->goaway_error = uvh_h2_number(payload + 4);
}

static inline void h2_peer_check_frame(struct h2_peer *peer, const struct uvh_h2_frame *frame,
                                       const char *payload)
{
    h2_peer_require(peer, peer->settings_received || frame->type == UVH_H2_SETTINGS,
                    "the first frame is not SETTINGS");
    h2_peer_require(peer, peer->goaway_error == 0, "a frame after an error of the connection");
    h2_peer_require(peer, peer->block_stream == 0 || frame->type == UVH_H2_CONTINUATION,
                    "a field block is interrupted");
    switch (frame->type) {
    case UVH_H2_HEADERS:
    case UVH_H2_CONTINUATION:
        h2_peer_check_headers(peer, frame, payload);
        break;
    case UVH_H2_DATA:
        h2_peer_check_data(peer, frame, payload);
        break;
    case UVH_H2_RST_STREAM:
        h2_peer_check_reset(peer, frame, payload);
        break;
    case UVH_H2_WINDOW_UPDATE:
        h2_peer_check_window(peer, frame, payload);
        break;
    case UVH_H2_SETTINGS:
        h2_peer_check_settings(peer, frame);
        break;
    case UVH_H2_GOAWAY:
        h2_peer_check_goaway(peer, payload);
        break;
    case UVH_H2_PING:
        peer->pings += (frame->flags & UVH_H2_ACK) != 0;
        break;
    default:
        h2_peer_require(peer, false, "a frame that servers do not send");
        break;
    }
}

/* Appends what was received, and checks the frames that are complete. */
static inline void h2_peer_receive(struct h2_peer *peer, const char *bytes, size_t size)
{
    h2_peer_reserve(&peer->in, &peer->in_capacity, peer->in_length, size);
    memcpy(peer->in + peer->in_length, bytes, size);
    peer->in_length += size;
    while (peer->in_length - peer->in_checked >= UVH_H2_HEAD_SIZE && peer->wrong == NULL) {
        const char *at = peer->in + peer->in_checked;
        struct uvh_h2_frame frame = uvh_h2_frame_read(at);
        h2_peer_require(peer, frame.length <= UVH_H2_FRAME_SIZE, "a frame is too large");
        if (peer->in_length - peer->in_checked < UVH_H2_HEAD_SIZE + (size_t)frame.length)
            break;
        h2_peer_check_frame(peer, &frame, at + UVH_H2_HEAD_SIZE);
        peer->in_checked += UVH_H2_HEAD_SIZE + frame.length;
    }
}

/* The server owes nothing more on this stream. */
static inline bool h2_peer_is_over(const struct h2_peer *peer, uint32_t id)
{
    const struct h2_peer_stream *stream = &peer->streams[id / 2];
    return !stream->opened || stream->server_ended || stream->server_reset || stream->reset ||
           id > peer->goaway_last;
}

/* ---- requests ---- */

/* A literal field without indexing; with `indexed` it enters the table. */
static inline char *h2_peer_field(char *out, const char *name, const char *value, bool indexed)
{
    uvhttp_slice_t slices[2] = {{name, strlen(name)}, {value, strlen(value)}};
    *out++ = indexed ? 0x40 : 0;
    for (size_t i = 0; i < 2; i++) {
        size_t length = slices[i].length;
        if (length < 127) {
            *out++ = (char)length;
        } else {
            *out++ = 127;
            for (length -= 127; length >= 128; length /= 128)
                *out++ = (char)(length % 128 + 128);
            *out++ = (char)length;
        }
        memcpy(out, slices[i].base, slices[i].length);
        out += slices[i].length;
    }
    return out;
}

/* The pseudo-header fields of a request. */
static inline char *h2_peer_head(char *out, const char *method, const char *path)
{
    out = h2_peer_field(out, ":method", method, false);
    out = h2_peer_field(out, ":scheme", "http", false);
    out = h2_peer_field(out, ":path", path, false);
    return h2_peer_field(out, ":authority", "h", true);
}

#endif

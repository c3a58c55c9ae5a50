/* Frames of HTTP/2 (RFC 9113 sections 4 and 6, PRIORITY_UPDATE of RFC 9218): their rules for a
 * server, readers of payloads, writers of the frames that a server sends.
 *
 * The functions know no state of streams: whether a frame is allowed in the state of its stream is
 * checked by h2/, which calls them. Numbers are in network order. */
#ifndef UVH_CODEC_HTTP2_FRAME_H
#define UVH_CODEC_HTTP2_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uvhttp/types.h>

/* The first bytes of a client (RFC 9113 section 3.4), before its SETTINGS frame. */
#define UVH_H2_PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

enum {
    UVH_H2_PREFACE_SIZE = sizeof(UVH_H2_PREFACE) - 1,
    UVH_H2_HEAD_SIZE = 9,             /* of every frame */
    UVH_H2_FRAME_SIZE = 16384,        /* smallest and initial SETTINGS_MAX_FRAME_SIZE */
    UVH_H2_FRAME_SIZE_MAX = 0xffffff, /* largest */
    UVH_H2_WINDOW = 65535,            /* initial window of a connection and of a stream */
    UVH_H2_WINDOW_MAX = 0x7fffffff,   /* largest window */
    UVH_H2_STREAM_MAX = 0x7fffffff,   /* largest stream identifier */
    UVH_H2_TABLE_SIZE = 4096,         /* initial SETTINGS_HEADER_TABLE_SIZE */
    UVH_H2_SETTING_SIZE = 6,          /* one entry of SETTINGS */
    UVH_H2_PING_SIZE = 8,             /* payload of PING */
    UVH_H2_GOAWAY_SIZE = 8,           /* payload of GOAWAY without debug data */
};

enum uvh_h2_type {
    UVH_H2_DATA = 0,
    UVH_H2_HEADERS = 1,
    UVH_H2_PRIORITY = 2,
    UVH_H2_RST_STREAM = 3,
    UVH_H2_SETTINGS = 4,
    UVH_H2_PUSH_PROMISE = 5,
    UVH_H2_PING = 6,
    UVH_H2_GOAWAY = 7,
    UVH_H2_WINDOW_UPDATE = 8,
    UVH_H2_CONTINUATION = 9,
    UVH_H2_PRIORITY_UPDATE = 16,
};

enum uvh_h2_flag {
    UVH_H2_ACK = 0x01,         /* SETTINGS, PING */
    UVH_H2_END_STREAM = 0x01,  /* DATA, HEADERS */
    UVH_H2_END_HEADERS = 0x04, /* HEADERS, CONTINUATION */
    UVH_H2_PADDED = 0x08,      /* DATA, HEADERS */
    UVH_H2_PRIORITIZED = 0x20, /* HEADERS (called PRIORITY in the RFC) */
};

enum uvh_h2_setting {
    UVH_H2_HEADER_TABLE_SIZE = 1,
    UVH_H2_ENABLE_PUSH = 2,
    UVH_H2_MAX_CONCURRENT_STREAMS = 3,
    UVH_H2_INITIAL_WINDOW_SIZE = 4,
    UVH_H2_MAX_FRAME_SIZE = 5,
    UVH_H2_MAX_HEADER_LIST_SIZE = 6,
    UVH_H2_ENABLE_CONNECT_PROTOCOL = 8, /* RFC 8441 */
    UVH_H2_NO_RFC7540_PRIORITIES = 9,   /* RFC 9218 */
};

enum uvh_h2_error {
    UVH_H2_NO_ERROR = 0,
    UVH_H2_PROTOCOL_ERROR = 1,
    UVH_H2_INTERNAL_ERROR = 2,
    UVH_H2_FLOW_CONTROL_ERROR = 3,
    UVH_H2_SETTINGS_TIMEOUT = 4,
    UVH_H2_STREAM_CLOSED = 5,
    UVH_H2_FRAME_SIZE_ERROR = 6,
    UVH_H2_REFUSED_STREAM = 7,
    UVH_H2_CANCEL = 8,
    UVH_H2_COMPRESSION_ERROR = 9,
    UVH_H2_CONNECT_ERROR = 10,
    UVH_H2_ENHANCE_YOUR_CALM = 11,
    UVH_H2_INADEQUATE_SECURITY = 12,
    UVH_H2_HTTP_1_1_REQUIRED = 13,
};

/* "ENHANCE_YOUR_CALM" */
const char *uvh_h2_error_name(enum uvh_h2_error error);

/* The header of a frame. */
struct uvh_h2_frame {
    uint32_t length; /* of the payload */
    uint32_t stream; /* without the reserved bit */
    uint8_t type;    /* enum uvh_h2_type, or unknown */
    uint8_t flags;
};

static inline uint32_t uvh_h2_number(const char *p)
{
    const unsigned char *bytes = (const unsigned char *)p;
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* Without the highest bit, which is reserved: stream identifiers, window increments. */
static inline uint32_t uvh_h2_number31(const char *p)
{
    return uvh_h2_number(p) & 0x7fffffff;
}

/* Reads the UVH_H2_HEAD_SIZE bytes at `head`. */
static inline struct uvh_h2_frame uvh_h2_frame_read(const char *head)
{
    return (struct uvh_h2_frame){.length = uvh_h2_number(head) >> 8,
                                 .type = (uint8_t)head[3],
                                 .flags = (uint8_t)head[4],
                                 .stream = uvh_h2_number31(head + 5)};
}

/* What a frame violates. */
struct uvh_h2_violation {
    uint8_t error;  /* enum uvh_h2_error; UVH_H2_NO_ERROR: nothing */
    bool of_stream; /* a stream error; else one of the connection */
};

/* Checks the header of a frame from a client: size, stream identifier (0 or not, and odd, since a
 * server that never pushes has no even streams), order of CONTINUATION. `max_size` is our
 * SETTINGS_MAX_FRAME_SIZE; `block_stream` is the stream whose field block is incomplete, 0 without.
 * Frames of unknown types are valid outside a field block, and to be ignored. */
struct uvh_h2_violation uvh_h2_frame_check(const struct uvh_h2_frame *frame, uint32_t max_size,
                                           uint32_t block_stream);

/* Bytes of the payload that precede the data of DATA or the fragment of HEADERS, 0 to 6: pad length
 * and priority. The header is checked, so the payload has them. */
static inline unsigned uvh_h2_content_offset(const struct uvh_h2_frame *frame)
{
    return ((frame->flags & UVH_H2_PADDED) != 0 ? 1u : 0u) +
           (frame->type == UVH_H2_HEADERS && (frame->flags & UVH_H2_PRIORITIZED) != 0 ? 5u : 0u);
}

/* The length of the data of DATA or of the fragment of HEADERS, which begins at
 * uvh_h2_content_offset. Of the payload at most the first byte is read, and only with PADDED.
 * Returns UVH_H2_NO_ERROR or, if there is more padding than payload, PROTOCOL_ERROR of the
 * connection. */
enum uvh_h2_error uvh_h2_content_length(const struct uvh_h2_frame *frame, const char *payload,
                                        uint32_t *length);

/* True if the priority of a PRIORITY frame, or of a HEADERS frame that has one, makes a stream
 * depend on itself: a stream error PROTOCOL_ERROR in RFC 7540 section 5.3.1. The rest of it is
 * ignored. */
bool uvh_h2_depends_on_itself(const struct uvh_h2_frame *frame, const char *payload);

/* Settings of the peer that concern what we send. */
struct uvh_h2_settings {
    uint32_t header_table_size;
    uint32_t initial_window_size;  /* up to UVH_H2_WINDOW_MAX */
    uint32_t max_frame_size;       /* UVH_H2_FRAME_SIZE to UVH_H2_FRAME_SIZE_MAX */
    uint32_t max_header_list_size; /* UINT32_MAX: unlimited */
};

/* The values before the first SETTINGS frame. */
#define UVH_H2_SETTINGS_INITIAL                                         \
    {                                                                   \
        UVH_H2_TABLE_SIZE, UVH_H2_WINDOW, UVH_H2_FRAME_SIZE, UINT32_MAX \
    }

/* Applies the payload of a SETTINGS frame in its order; unknown settings are ignored. Returns
 * UVH_H2_NO_ERROR or the error of the connection: an invalid value, also of settings that are not
 * in the struct. */
enum uvh_h2_error uvh_h2_settings_read(struct uvh_h2_settings *settings, const char *payload,
                                       uint32_t length);

/* Adds the increment of a WINDOW_UPDATE frame, or the difference of two initial window sizes, to a
 * window, which may be negative. False, with the window unchanged, if it would exceed
 * UVH_H2_WINDOW_MAX (FLOW_CONTROL_ERROR). */
static inline bool uvh_h2_window_add(int32_t *window, int32_t difference)
{
    int64_t sum = (int64_t)*window + difference;
    if (sum > UVH_H2_WINDOW_MAX || sum < -(int64_t)UVH_H2_WINDOW_MAX)
        return false;
    *window = (int32_t)sum;
    return true;
}

/* The increment of a WINDOW_UPDATE frame; 0 is invalid: PROTOCOL_ERROR of the stream or, on stream
 * 0, of the connection. */
static inline uint32_t uvh_h2_window_increment(const char *payload)
{
    return uvh_h2_number31(payload);
}

/* PRIORITY_UPDATE: the stream that gets the priority, and its value (priority.h). Returns
 * UVH_H2_NO_ERROR, or PROTOCOL_ERROR of the connection: a stream that cannot exist. */
enum uvh_h2_error uvh_h2_priority_update_read(const struct uvh_h2_frame *frame, const char *payload,
                                              uint32_t *stream, uvhttp_slice_t *value);

/* Writers: each writes a header or a whole frame, and returns the number of bytes. */

/* The header of any frame: UVH_H2_HEAD_SIZE bytes. */
size_t uvh_h2_write_head(char *out, const struct uvh_h2_frame *frame);

struct uvh_h2_entry {
    uint16_t setting; /* enum uvh_h2_setting */
    uint32_t value;
};

/* SETTINGS with `count` entries: UVH_H2_HEAD_SIZE + count * UVH_H2_SETTING_SIZE bytes. */
size_t uvh_h2_write_settings(char *out, const struct uvh_h2_entry *entries, size_t count);

/* The acknowledgement of SETTINGS: UVH_H2_HEAD_SIZE bytes. */
size_t uvh_h2_write_settings_ack(char *out);

/* PING with these eight bytes: UVH_H2_HEAD_SIZE + UVH_H2_PING_SIZE. `flags`: UVH_H2_ACK or 0. */
size_t uvh_h2_write_ping(char *out, const char data[UVH_H2_PING_SIZE], uint8_t flags);

/* RST_STREAM: UVH_H2_HEAD_SIZE + 4 bytes. */
size_t uvh_h2_write_rst_stream(char *out, uint32_t stream, enum uvh_h2_error error);

/* WINDOW_UPDATE: UVH_H2_HEAD_SIZE + 4 bytes. `stream` 0: of the connection. */
size_t uvh_h2_write_window_update(char *out, uint32_t stream, uint32_t increment);

/* GOAWAY: UVH_H2_HEAD_SIZE + UVH_H2_GOAWAY_SIZE bytes and the debug data, a NUL-terminated text,
 * "" for none. */
size_t uvh_h2_write_goaway(char *out, uint32_t last_stream, enum uvh_h2_error error,
                           const char *text);

#endif

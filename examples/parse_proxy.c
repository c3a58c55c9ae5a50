/* The parser alone: forwards requests as a proxy does. Heads are parsed in a small ring buffer and
 * written again without the fields for one connection. Bodies of any size pass through the same
 * ring chunk by chunk and leave in chunked coding.
 *
 *     cc parse_proxy.c -o parse_proxy $(pkg-config --cflags --libs uvhttp_parser)
 *     printf %b 'POST /up HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n' \
 *         'Connection: x\r\nX: 1\r\n\r\nhello' | ./parse_proxy
 *     printf %b 'PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n' \
 *         '\r\n2\r\nab\r\n1\r\nc\r\n0\r\nSum: 3\r\n\r\n' | ./parse_proxy
 *
 * Usage: parse_proxy [FILE]. Reads requests, and writes to standard output what would be sent to
 * the next server. The exit code is 1 when a request is refused or incomplete. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <uvhttp/parser.h>
#include <uvhttp/ring.h>
#include <uvhttp/writer.h>

enum {
    HEAD_MAX = 4096, /* a head must fit into the ring; bodies may be larger */
    OUT_MAX = HEAD_MAX + 256,
    EXTENSION_MAX = 256
};

static char ring_memory[HEAD_MAX];
static char contiguous[HEAD_MAX]; /* a head or trailer section that wraps around the ring's end */
static char out_memory[OUT_MAX];
static uvhttp_ring_t ring;
static int input;

static const uvhttp_head_limits_t limits = {
    .max_size = HEAD_MAX, .max_target = 2048, .max_fields = 32};

static int fail(const char *text)
{
    fprintf(stderr, "%s\n", text);
    return -1;
}

static int refuse(uvhttp_reason_t reason)
{
    fprintf(stderr, "%d: ", uvhttp_reason_status(reason));
    return fail(uvhttp_reason_text(reason));
}

/* Reads into the ring. Returns 1, 0 at the end of the input, or -1 after a read error. */
static int receive(void)
{
    uvhttp_span_t space[2];
    uvhttp_ring_writable(&ring, space);
    ssize_t received = read(input, space[0].base, space[0].length);
    if (received < 0)
        return fail("the input cannot be read");
    uvhttp_ring_commit(&ring, (size_t)received);
    return received > 0;
}

/* Within a message. Returns 0 when the ring has more bytes, or -1. */
static int receive_more(void)
{
    int result = receive();
    return result == 0 ? fail("the input ends inside a request") : result < 0 ? -1 : 0;
}

static int send_bytes(const char *data, size_t length)
{
    return fwrite(data, 1, length, stdout) == length ? 0 : fail("the output cannot be written");
}

static int send_written(const uvhttp_writer_t *writer)
{
    if (writer->error != UVHTTP_WRITER_OK)
        return fail("the head grows too large");
    return send_bytes(writer->memory, writer->length);
}

static bool same_name(uvhttp_slice_t a, const char *b)
{
    size_t i = 0;
    while (i < a.length && b[i] != '\0' && (a.base[i] | 0x20) == b[i])
        i++;
    return i == a.length && b[i] == '\0';
}

/* True if a Connection field lists this field (RFC 9110 section 7.6.1). */
static bool is_listed(const uvhttp_head_t *head, const uvhttp_field_t *wanted)
{
    char name[64] = "";
    if (wanted->name_length >= sizeof name)
        return false;
    for (uint16_t i = 0; i < wanted->name_length; i++) {
        char c = head->base[wanted->name_offset + i];
        name[i] = c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
    }
    for (uint16_t i = 0; i < head->field_count; i++) {
        const uvhttp_field_t *field = &head->fields[i];
        const char *p = head->base + field->value_offset;
        const char *end = p + field->value_length;
        while (field->id == UVHTTP_FIELD_CONNECTION && p < end) {
            size_t length = 0;
            while (p < end && (*p == ',' || *p == ' ' || *p == '\t'))
                p++;
            while (p + length < end && p[length] != ',' && p[length] != ' ' && p[length] != '\t')
                length++;
            if (same_name((uvhttp_slice_t){p, length}, name))
                return true;
            p += length;
        }
    }
    return false;
}

/* True for hop-by-hop fields, for framing fields, because the body is framed again, and for Host,
 * which the target may override (RFC 9112 section 3.2.2). */
static bool is_hop_by_hop(const uvhttp_head_t *head, const uvhttp_field_t *field)
{
    switch (field->id) {
    case UVHTTP_FIELD_CONNECTION:
    case UVHTTP_FIELD_CONTENT_LENGTH:
    case UVHTTP_FIELD_HOST:
    case UVHTTP_FIELD_KEEP_ALIVE:
    case UVHTTP_FIELD_TE:
    case UVHTTP_FIELD_TRANSFER_ENCODING:
    case UVHTTP_FIELD_UPGRADE:
        return true;
    default:
        return is_listed(head, field);
    }
}

static void write_fields(uvhttp_writer_t *writer, const uvhttp_head_t *head)
{
    for (uint16_t i = 0; i < head->field_count; i++) {
        const uvhttp_field_t *field = &head->fields[i];
        if (!is_hop_by_hop(head, field))
            uvhttp_writer_field_slice(
                writer, (uvhttp_slice_t){head->base + field->name_offset, field->name_length},
                (uvhttp_slice_t){head->base + field->value_offset, field->value_length});
    }
}

static bool has_body(const uvhttp_framing_t *framing)
{
    return framing->body == UVHTTP_BODY_CHUNKED || framing->content_length > 0;
}

static int forward_head(const uvhttp_head_t *head, const uvhttp_framing_t *framing)
{
    uvhttp_writer_t writer;
    uvhttp_writer_init(&writer, out_memory, sizeof out_memory);
    uvhttp_writer_request_line_slice(
        &writer, (uvhttp_slice_t){head->base + head->start, head->method_length},
        (uvhttp_slice_t){head->base + head->target_offset, head->target_length});
    uvhttp_writer_field_slice(&writer, (uvhttp_slice_t){"host", 4}, framing->authority);
    write_fields(&writer, head);
    uvhttp_writer_field(&writer, "via",
                        head->minor_version == 1 ? "1.1 parse_proxy" : "1.0 parse_proxy");
    if (has_body(framing))
        uvhttp_writer_field(&writer, "transfer-encoding", "chunked");
    else if (framing->body == UVHTTP_BODY_LENGTH)
        uvhttp_writer_field_number(&writer, "content-length", 0);
    uvhttp_writer_end(&writer);
    return send_written(&writer);
}

/* Sends a part of a body in chunked coding. The data is sent from the ring without a copy. */
static int forward_part(uvhttp_slice_t chunk)
{
    uvhttp_writer_t writer;
    uvhttp_writer_init(&writer, out_memory, sizeof out_memory);
    uvhttp_writer_chunk_line(&writer, chunk.length);
    if (send_written(&writer) != 0 || send_bytes(chunk.base, chunk.length) != 0)
        return -1;
    return send_bytes("\r\n", 2);
}

static int forward_end(const uvhttp_head_t *trailers)
{
    uvhttp_writer_t writer;
    uvhttp_writer_init(&writer, out_memory, sizeof out_memory);
    uvhttp_writer_last_chunk(&writer);
    if (trailers != NULL)
        write_fields(&writer, trailers);
    uvhttp_writer_end(&writer);
    return send_written(&writer);
}

static int forward_sized(uint64_t length)
{
    while (length > 0) {
        uvhttp_slice_t slices[2];
        if (uvhttp_ring_readable(&ring, slices) == 0) {
            if (receive_more() != 0)
                return -1;
            continue;
        }
        if (slices[0].length > length)
            slices[0].length = (size_t)length;
        if (forward_part(slices[0]) != 0)
            return -1;
        length -= slices[0].length;
        uvhttp_ring_consume(&ring, slices[0].length);
    }
    return forward_end(NULL);
}

/* The trailer section is small. The ring is copied into contiguous memory until it is complete. */
static int forward_trailers(void)
{
    uvhttp_head_t trailers;
    uvhttp_head_init(&trailers, NULL, 0);
    for (;;) {
        uvhttp_slice_t slices[2];
        uvhttp_ring_readable(&ring, slices);
        for (size_t i = 0, at = 0; i < 2 && slices[i].length > 0; at += slices[i++].length)
            memcpy(contiguous + at, slices[i].base, slices[i].length);
        uvhttp_parse_result_t result =
            uvhttp_trailers_parse(&trailers, contiguous, ring.length, &limits);
        if (result == UVHTTP_PARSE_BAD)
            return refuse(trailers.reason);
        if (result == UVHTTP_PARSE_DONE)
            break;
        if (receive_more() != 0)
            return -1;
    }
    uvhttp_ring_consume(&ring, trailers.size);
    return forward_end(&trailers);
}

static int forward_chunked(void)
{
    uvhttp_chunked_t chunked;
    uvhttp_chunked_init(&chunked, EXTENSION_MAX);
    for (;;) {
        uvhttp_slice_t slices[2];
        uvhttp_slice_t chunk;
        size_t consumed;
        uvhttp_ring_readable(&ring, slices);
        uvhttp_parse_result_t result =
            uvhttp_chunked_decode(&chunked, slices[0].base, slices[0].length, &consumed, &chunk);
        if (result == UVHTTP_PARSE_BAD)
            return refuse(chunked.reason);
        if (chunk.length > 0 && forward_part(chunk) != 0)
            return -1;
        uvhttp_ring_consume(&ring, consumed);
        if (result == UVHTTP_PARSE_DONE)
            return forward_trailers();
        if (ring.length == 0 && receive_more() != 0)
            return -1;
    }
}

/* Forwards one request. Returns 1 if another may follow, 0 at the end, or -1 after a failure. */
static int forward(void)
{
    uvhttp_head_t head;
    uvhttp_framing_t framing;
    uvhttp_head_init(&head, NULL, 0);
    for (;;) {
        uvhttp_slice_t slices[2];
        size_t count = uvhttp_ring_readable(&ring, slices);
        uvhttp_parse_result_t result =
            uvhttp_request_head_parse_slices(&head, slices, count, contiguous, &limits);
        if (result == UVHTTP_PARSE_BAD)
            return refuse(head.reason);
        if (result == UVHTTP_PARSE_DONE)
            break;
        int received = receive();
        if (received <= 0)
            return received == 0 && ring.length > 0 ? fail("the input ends inside a request")
                                                    : received;
    }
    uvhttp_reason_t reason = uvhttp_request_framing(&head, &framing);
    if (reason != UVHTTP_REASON_NONE)
        return refuse(reason);
    if (forward_head(&head, &framing) != 0)
        return -1;
    /* The head may point into the ring: it is invalid after this call. */
    uvhttp_ring_consume(&ring, head.size);
    if (framing.body == UVHTTP_BODY_CHUNKED && forward_chunked() != 0)
        return -1;
    if (framing.body == UVHTTP_BODY_LENGTH && has_body(&framing) &&
        forward_sized(framing.content_length) != 0)
        return -1;
    return framing.keep_alive;
}

int main(int argc, char **argv)
{
    input = argc > 1 ? open(argv[1], O_RDONLY) : STDIN_FILENO;
    if (input < 0) {
        perror(argv[1]);
        return 1;
    }
    uvhttp_ring_init(&ring, ring_memory, sizeof ring_memory);
    int result;
    do {
        result = forward();
    } while (result > 0);
    if (fflush(stdout) != 0)
        result = fail("the output cannot be written");
    return result < 0;
}

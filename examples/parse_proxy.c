/* The parser alone: what a proxy does with requests. Heads are parsed in a small ring buffer and
 * written anew without the fields that end at a proxy; bodies of any size pass through that ring
 * piece by piece, counted and chunked ones alike, and leave as chunks of our own.
 *
 *     cc parse_proxy.c -o parse_proxy $(pkg-config --cflags --libs uvhttp_parser)
 *     printf %b 'POST /up HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n' \
 *         'Connection: x\r\nX: 1\r\n\r\nhello' | ./parse_proxy
 *     printf %b 'PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n' \
 *         '\r\n2\r\nab\r\n1\r\nc\r\n0\r\nSum: 3\r\n\r\n' | ./parse_proxy
 *
 * Usage: parse_proxy [FILE]. Reads requests, writes to standard output what would go to the next
 * server, and ends with 1 when a request is refused or incomplete. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <uvhttp/parser.h>
#include <uvhttp/ring.h>
#include <uvhttp/writer.h>

enum {
    HEAD_MAX = 4096, /* a head must fit into the ring, a body need not */
    OUT_MAX = HEAD_MAX + 256,
    EXTENSION_MAX = 256
};

static char ring_memory[HEAD_MAX];
static char gathered[HEAD_MAX]; /* a head or trailer section that goes across the ring's seam */
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

/* More bytes into the ring: 1, 0 at the end of the input, -1 when it cannot be read. */
static int receive(void)
{
    uvhttp_span_t room[2];
    uvhttp_ring_writable(&ring, room);
    ssize_t got = read(input, room[0].base, room[0].length);
    if (got < 0)
        return fail("the input cannot be read");
    uvhttp_ring_commit(&ring, (size_t)got);
    return got > 0;
}

/* For the middle of a message: 0 with more bytes in the ring. */
static int receive_more(void)
{
    int got = receive();
    return got == 0 ? fail("the input ends inside a request") : got < 0 ? -1 : 0;
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

/* Does a Connection field name this one? Its value is a list (RFC 9110 section 7.6.1). */
static bool listed(const uvhttp_head_t *head, const uvhttp_field_t *wanted)
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

/* Fields for one connection only, those that say how the body was framed, since it is framed anew,
 * and Host, which the target may overrule (RFC 9112 section 3.2.2). */
static bool ends_here(const uvhttp_head_t *head, const uvhttp_field_t *field)
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
        return listed(head, field);
    }
}

static void write_fields(uvhttp_writer_t *writer, const uvhttp_head_t *head)
{
    for (uint16_t i = 0; i < head->field_count; i++) {
        const uvhttp_field_t *field = &head->fields[i];
        if (!ends_here(head, field))
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

/* One piece of a body as a chunk: only its line and its end are written, the data goes out from
 * where it lies. */
static int forward_piece(uvhttp_slice_t chunk)
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

static int forward_counted(uint64_t length)
{
    while (length > 0) {
        uvhttp_slice_t chunks[2];
        if (uvhttp_ring_readable(&ring, chunks) == 0) {
            if (receive_more() != 0)
                return -1;
            continue;
        }
        if (chunks[0].length > length)
            chunks[0].length = (size_t)length;
        if (forward_piece(chunks[0]) != 0)
            return -1;
        length -= chunks[0].length;
        uvhttp_ring_consume(&ring, chunks[0].length);
    }
    return forward_end(NULL);
}

/* The trailer section is small and taken in one piece: what the ring holds is copied until it is
 * complete. */
static int forward_trailers(void)
{
    uvhttp_head_t trailers;
    uvhttp_head_init(&trailers, NULL, 0);
    for (;;) {
        uvhttp_slice_t chunks[2];
        uvhttp_ring_readable(&ring, chunks);
        for (size_t i = 0, at = 0; i < 2 && chunks[i].length > 0; at += chunks[i++].length)
            memcpy(gathered + at, chunks[i].base, chunks[i].length);
        uvhttp_parse_result_t result =
            uvhttp_trailers_parse(&trailers, gathered, ring.length, &limits);
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
        uvhttp_slice_t chunks[2];
        uvhttp_slice_t chunk;
        size_t consumed;
        uvhttp_ring_readable(&ring, chunks);
        uvhttp_parse_result_t result =
            uvhttp_chunked_decode(&chunked, chunks[0].base, chunks[0].length, &consumed, &chunk);
        if (result == UVHTTP_PARSE_BAD)
            return refuse(chunked.reason);
        if (chunk.length > 0 && forward_piece(chunk) != 0)
            return -1;
        uvhttp_ring_consume(&ring, consumed);
        if (result == UVHTTP_PARSE_DONE)
            return forward_trailers();
        if (ring.length == 0 && receive_more() != 0)
            return -1;
    }
}

/* One request: 1 when another may follow, 0 at the end, -1 after a failure. */
static int forward(void)
{
    uvhttp_head_t head;
    uvhttp_framing_t framing;
    uvhttp_head_init(&head, NULL, 0);
    for (;;) {
        uvhttp_slice_t chunks[2];
        size_t count = uvhttp_ring_readable(&ring, chunks);
        uvhttp_parse_result_t result =
            uvhttp_request_head_parse_slices(&head, chunks, count, gathered, &limits);
        if (result == UVHTTP_PARSE_BAD)
            return refuse(head.reason);
        if (result == UVHTTP_PARSE_DONE)
            break;
        int got = receive();
        if (got <= 0)
            return got == 0 && ring.length > 0 ? fail("the input ends inside a request") : got;
    }
    uvhttp_reason_t reason = uvhttp_request_framing(&head, &framing);
    if (reason != UVHTTP_REASON_NONE)
        return refuse(reason);
    if (forward_head(&head, &framing) != 0)
        return -1;
    /* The head may lie in the ring: nothing looks at it from here on. */
    uvhttp_ring_consume(&ring, head.size);
    if (framing.body == UVHTTP_BODY_CHUNKED && forward_chunked() != 0)
        return -1;
    if (framing.body == UVHTTP_BODY_LENGTH && has_body(&framing) &&
        forward_counted(framing.content_length) != 0)
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

/* The parser alone: parses one complete message, a request or a response, and prints its parts. It
 * needs no libuv and no allocation.
 *
 *     cc parse_whole.c -o parse_whole $(pkg-config --cflags --libs uvhttp_parser)
 *     printf 'GET /find?q=fast+server HTTP/1.1\r\nHost: example.com\r\n\r\n' | ./parse_whole
 *     printf %b 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n' \
 *         'hello\r\n0\r\n\r\n' | ./parse_whole
 *     printf 'GET / HTTP/1.1\r\nHost : example.com\r\n\r\n' | ./parse_whole
 *
 * Usage: parse_whole [FILE]. The exit code is 1 when the message is refused or incomplete. */
#include <stdio.h>
#include <string.h>

#include <uvhttp/parser.h>

#define MESSAGE_MAX ((size_t)1024 * 1024)

static int refuse(uvhttp_reason_t reason, size_t offset)
{
    fprintf(stderr, "refused at byte %zu: %s (%s, status %d)\n", offset, uvhttp_reason_text(reason),
            uvhttp_reason_source(reason), uvhttp_reason_status(reason));
    return 1;
}

static int incomplete(void)
{
    fputs("the message is incomplete\n", stderr);
    return 1;
}

static void print(const char *what, const char *base, size_t length)
{
    printf("%s: ", what);
    if (length > 0) /* else `base` may be NULL */
        fwrite(base, 1, length, stdout);
    putchar('\n');
}

static void print_fields(const char *what, const uvhttp_head_t *head)
{
    for (uint16_t i = 0; i < head->field_count; i++) {
        const uvhttp_field_t *field = &head->fields[i];
        printf("%s: %.*s = %.*s\n", what, (int)field->name_length, head->base + field->name_offset,
               (int)field->value_length, head->base + field->value_offset);
    }
}

static void print_request(const uvhttp_head_t *head, const uvhttp_framing_t *framing)
{
    print("method", head->base + head->start, head->method_length);
    print("authority", framing->authority.base, framing->authority.length);
    print("path", framing->path.base, framing->path.length);

    /* A query in form encoding is split into pairs before it is decoded, so that an encoded '&'
     * separates nothing. */
    static char decoded[MESSAGE_MAX];
    uvhttp_slice_t rest = framing->query;
    uvhttp_slice_t name;
    uvhttp_slice_t value;
    int found;
    while ((found = uvhttp_form_next(&rest, decoded, &name, &value)) > 0)
        printf("query: %.*s = %.*s\n", UVHTTP_SLICE_ARGS(name), UVHTTP_SLICE_ARGS(value));
    if (found < 0)
        puts("query: malformed from here on");
}

static void print_response(const uvhttp_head_t *head)
{
    printf("status: %d\n", head->status);
    print("phrase", head->base + head->reason_phrase_offset, head->reason_phrase_length);
}

/* The body follows the head at `offset` of the message; `length` bytes are available. */
static int print_body(const uvhttp_framing_t *framing, size_t offset, char *body, size_t length)
{
    if (framing->body == UVHTTP_BODY_NONE)
        return 0;
    if (framing->body == UVHTTP_BODY_UNTIL_CLOSE) {
        print("body", body, length);
        return 0;
    }
    if (framing->body == UVHTTP_BODY_LENGTH) {
        if (framing->content_length > length)
            return incomplete();
        print("body", body, (size_t)framing->content_length);
        return 0;
    }

    uvhttp_chunked_t chunked;
    size_t consumed;
    size_t size;
    uvhttp_chunked_init(&chunked, 256);
    uvhttp_parse_result_t result =
        uvhttp_chunked_decode_in_place(&chunked, body, length, &consumed, &size);
    if (result == UVHTTP_PARSE_BAD)
        return refuse(chunked.reason, offset + consumed);
    if (result == UVHTTP_PARSE_MORE)
        return incomplete();
    print("body", body, size);

    uvhttp_head_t trailers;
    uvhttp_head_limits_t limits = {.max_size = 8192, .max_fields = 32};
    uvhttp_head_init(&trailers, NULL, 0);
    result = uvhttp_trailers_parse(&trailers, body + consumed, length - consumed, &limits);
    if (result == UVHTTP_PARSE_BAD)
        return refuse(trailers.reason, offset + consumed + trailers.reason_offset);
    if (result == UVHTTP_PARSE_MORE)
        return incomplete();
    print_fields("trailer", &trailers);
    return 0;
}

static int parse(char *data, size_t length)
{
    uvhttp_head_t head; /* has 32 fields; uvhttp_head_init accepts a larger table */
    uvhttp_framing_t framing;
    uvhttp_head_limits_t limits = {.max_size = 16384, .max_target = 8192, .max_fields = 32};
    bool response = length >= 5 && memcmp(data, "HTTP/", 5) == 0;

    uvhttp_head_init(&head, NULL, 0);
    uvhttp_parse_result_t result = response
                                       ? uvhttp_response_head_parse(&head, data, length, &limits)
                                       : uvhttp_request_head_parse(&head, data, length, &limits);
    if (result == UVHTTP_PARSE_BAD)
        return refuse(head.reason, head.reason_offset);
    if (result == UVHTTP_PARSE_MORE)
        return incomplete();
    uvhttp_reason_t reason = response ? uvhttp_response_framing(&head, UVHTTP_METHOD_GET, &framing)
                                      : uvhttp_request_framing(&head, &framing);
    if (reason != UVHTTP_REASON_NONE)
        return refuse(reason, 0);

    if (response)
        print_response(&head);
    else
        print_request(&head, &framing);
    print_fields("field", &head);
    printf("connection: %s\n", framing.keep_alive ? "keep-alive" : "close");
    return print_body(&framing, head.size, data + head.size, length - head.size);
}

int main(int argc, char **argv)
{
    static char message[MESSAGE_MAX];
    FILE *file = argc > 1 ? fopen(argv[1], "rb") : stdin;
    if (file == NULL) {
        perror(argv[1]);
        return 1;
    }
    size_t length = fread(message, 1, sizeof message, file);
    if (file != stdin)
        fclose(file);
    return parse(message, length);
}

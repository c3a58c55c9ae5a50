/* The parser alone: reads a multipart form from a request chunk by chunk, and stores its parts. It
 * needs no libuv and no allocation.
 *
 *     cc parse_multipart.c -o parse_multipart $(pkg-config --cflags --libs uvhttp_parser)
 *     printf %b 'POST /up HTTP/1.1\r\nHost: h\r\nContent-Length: 84\r\n' \
 *         'Content-Type: multipart/form-data; boundary=b\r\n\r\n--b\r\n' \
 *         'Content-Disposition: form-data; name="a"; filename="../b.txt"\r\n' \
 *         '\r\nhello\r\n--b--\r\n' | ./parse_multipart
 *
 * Usage: parse_multipart [FILE [DIRECTORY]]. Parts are stored in DIRECTORY under their number,
 * because a file name from a client is not safe as a path. Without a directory they are only
 * counted. The exit code is 1 when the form is refused or a part cannot be stored. */
#include <stdio.h>
#include <string.h>

#include <uvhttp/multipart.h>
#include <uvhttp/parser.h>

static uvhttp_multipart_t form; /* some KiB; its address must not change */
static FILE *store;
static unsigned long long stored;

static void print_field(const char *what, uvhttp_slice_t text)
{
    if (text.base != NULL)
        printf(" %s=%.*s", what, UVHTTP_SLICE_ARGS(text));
}

static bool open_part(const char *directory)
{
    printf("part %u:", (unsigned)form.part_count);
    print_field("name", form.part.name);
    print_field("filename", form.part.filename);
    print_field("type", form.part.type);
    stored = 0;
    if (directory == NULL)
        return true;
    char path[4096];
    snprintf(path, sizeof path, "%s/%u", directory, (unsigned)form.part_count);
    store = fopen(path, "wb");
    return store != NULL;
}

static bool store_data(uvhttp_slice_t data)
{
    stored += data.length;
    return store == NULL || fwrite(data.base, 1, data.length, store) == data.length;
}

static bool close_part(void)
{
    bool ok = store == NULL || fclose(store) == 0;
    store = NULL;
    printf(" bytes=%llu\n", stored);
    return ok;
}

/* Processes a chunk of the body. Returns false when it is refused or cannot be stored. */
static bool process_chunk(uvhttp_slice_t chunk, const char *directory)
{
    for (;;) {
        uvhttp_slice_t data;
        bool ok = true;
        switch (uvhttp_multipart_next(&form, &chunk, &data)) {
        case UVHTTP_MULTIPART_MORE:
            return true;
        case UVHTTP_MULTIPART_PART:
            ok = open_part(directory);
            break;
        case UVHTTP_MULTIPART_DATA:
            ok = store_data(data);
            break;
        case UVHTTP_MULTIPART_PART_END:
            ok = close_part();
            break;
        case UVHTTP_MULTIPART_END:
            puts("complete");
            break;
        case UVHTTP_MULTIPART_BAD:
            return false;
        }
        if (!ok)
            return false;
    }
}

static int fail(const char *reason)
{
    fprintf(stderr, "refused: %s\n", reason);
    return 1;
}

/* Reads a body of `left` bytes. `first` was received with the head. */
static int read_form(FILE *file, uvhttp_slice_t first, uint64_t left, const char *directory)
{
    char buffer[4096];
    uvhttp_slice_t chunk = first;
    for (;;) {
        chunk.length = chunk.length < left ? chunk.length : (size_t)left;
        left -= chunk.length;
        bool processed = process_chunk(chunk, directory);
        if (!processed && form.error == UVHTTP_MULTIPART_ERROR_NONE)
            return fail("a part cannot be stored");
        if (!processed || left == 0)
            break;
        chunk = (uvhttp_slice_t){buffer, fread(buffer, 1, sizeof buffer, file)};
        if (chunk.length == 0)
            break;
    }
    if (uvhttp_multipart_finish(&form))
        return 0;
    fprintf(stderr, "byte %llu of the body, status %d, ", (unsigned long long)form.error_offset,
            uvhttp_multipart_error_status(form.error));
    return fail(uvhttp_multipart_error_text(form.error));
}

int main(int argc, char **argv)
{
    static char buffer[16384];
    const uvhttp_head_limits_t limits = {
        .max_size = sizeof buffer, .max_target = 8192, .max_fields = 32};
    const uvhttp_multipart_limits_t form_limits = {.max_part_size = 64 * 1024 * 1024};
    uvhttp_head_t head;
    uvhttp_framing_t framing;
    uvhttp_slice_t boundary;
    FILE *file = argc > 1 ? fopen(argv[1], "rb") : stdin;
    if (file == NULL)
        return fail("the file cannot be opened");
    size_t length = fread(buffer, 1, sizeof buffer, file);
    uvhttp_head_init(&head, NULL, 0);
    uvhttp_parse_result_t result = uvhttp_request_head_parse(&head, buffer, length, &limits);
    if (result == UVHTTP_PARSE_MORE)
        return fail("the head is incomplete");
    uvhttp_reason_t reason =
        result == UVHTTP_PARSE_BAD ? head.reason : uvhttp_request_framing(&head, &framing);
    if (reason != UVHTTP_REASON_NONE)
        return fail(uvhttp_reason_text(reason));
    printf("%.*s\n", UVHTTP_SLICE_ARGS(framing.path));

    const uvhttp_field_t *type = uvhttp_head_find(&head, UVHTTP_FIELD_CONTENT_TYPE);
    if (type == NULL ||
        !uvhttp_multipart_boundary(
            (uvhttp_slice_t){head.base + type->value_offset, type->value_length}, &boundary)) {
        puts("no form with files");
        return 0;
    }
    uvhttp_multipart_init(&form, boundary, &form_limits);
    return read_form(file, (uvhttp_slice_t){buffer + head.size, length - head.size},
                     framing.content_length, argc > 2 ? argv[2] : NULL);
}

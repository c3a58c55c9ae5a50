/* The writer, then the parser. The input describes a message: one byte for the capacity, one for
 * the kind of message, two for the status, then parts separated by 0x1e: method and target, or the
 * phrase; names and values of fields; after a 0x1d the data of chunks; after another one names and
 * values of trailer fields. Properties: what the RFCs and the capacity allow is written with the
 * expected length and parsed as given. Anything else is rejected with the right error, and nothing
 * is written afterwards. */
#include <uvhttp/writer.h>

#include "fuzz/fuzz_check.h"
#include "reference/head.h"
#include "reference/text.h"
#include "support/backends.h"

enum { MAX_PARTS = 256, PART = 0x1e, SECTION = 0x1d };

struct parts {
    size_t count;
    uvhttp_slice_t items[MAX_PARTS];
};

/* The calls and their results. */
struct script {
    uvhttp_writer_t writer;
    bool failed;
    bool response;
    bool registered; /* uses the registered phrase */
    bool slices;     /* method and target as slices, not as strings */
    int status;
    uvhttp_slice_t method;
    uvhttp_slice_t target;
    struct parts head;
    struct parts body;
    struct parts trailers;
    struct parts written_fields; /* name, value, name, value, ... */
    struct parts written_trailers;
    char *body_bytes;
    size_t body_length;
};

static void split(uvhttp_slice_t text, struct parts *parts)
{
    uvhttp_slice_t part;
    for (parts->count = 0; parts->count < MAX_PARTS && reference_split(&text, PART, &part);)
        parts->items[parts->count++] = part;
}

static uvhttp_slice_t part_of(const struct parts *parts, size_t i)
{
    return i < parts->count ? parts->items[i] : (uvhttp_slice_t){"", 0};
}

/* The part up to its first NUL, as a string that the caller frees. */
static char *string_of(uvhttp_slice_t part)
{
    char *string = malloc(part.length + 1);
    require(string != NULL);
    memcpy(string, part.base, part.length);
    string[part.length] = '\0';
    return string;
}

static bool all_are(uvhttp_slice_t text, bool (*is)(char))
{
    for (size_t i = 0; i < text.length; i++) {
        if (!is(text.base[i]))
            return false;
    }
    return true;
}

static bool is_name(uvhttp_slice_t text)
{
    return text.length > 0 && text.length <= REFERENCE_LONGEST_NAME &&
           all_are(text, reference_is_token);
}

/* Checks one call of the writer: `done` is its result, `size` the bytes it must write if
 * `valid`. */
static void check_call(struct script *script, size_t before, bool done, bool valid, size_t size)
{
    const uvhttp_writer_t *writer = &script->writer;
    bool fits = writer->capacity - before >= size;
    require(done == (!script->failed && valid && fits));
    require(writer->length == (done ? before + size : before));
    require((writer->error == UVHTTP_WRITER_OK) == done);
    if (done || script->failed)
        return;
    script->failed = true;
    require(writer->error == (valid ? UVHTTP_WRITER_FULL : UVHTTP_WRITER_INVALID));
}

/* As strings, which end at their first NUL, or as slices. */
static void write_request_line(struct script *script)
{
    char *method = string_of(part_of(&script->head, 0));
    char *target = string_of(part_of(&script->head, 1));
    script->method = part_of(&script->head, 0);
    script->target = part_of(&script->head, 1);
    if (!script->slices) {
        script->method.length = strlen(method);
        script->target.length = strlen(target);
    }
    bool valid = is_name(script->method) && script->target.length > 0 &&
                 all_are(script->target, reference_is_target);
    size_t size = script->method.length + script->target.length + sizeof "  HTTP/1.1\r\n" - 1;
    size_t before = script->writer.length;
    bool done = script->slices ? uvhttp_writer_request_line_slice(&script->writer, script->method,
                                                                  script->target)
                               : uvhttp_writer_request_line(&script->writer, method, target);
    check_call(script, before, done, valid, size);
    free(method);
    free(target);
}

static void write_status_line(struct script *script)
{
    char *phrase = string_of(part_of(&script->head, 0));
    uvhttp_slice_t slice = {phrase, strlen(phrase)};
    bool valid = script->status >= 100 && script->status <= 999;
    size_t before = script->writer.length;
    if (script->registered) {
        /* Only the writer knows the length of a registered phrase. The parser checks it. */
        bool done = uvhttp_writer_status_line(&script->writer, script->status, NULL);
        size_t written = script->writer.length - before;
        require(!done || written >= sizeof "HTTP/1.1 200 \r\n" - 1);
        require(done || written == 0);
        script->failed = !done;
        require(done ||
                script->writer.error == (valid ? UVHTTP_WRITER_FULL : UVHTTP_WRITER_INVALID));
    } else {
        bool done = uvhttp_writer_status_line(&script->writer, script->status, phrase);
        valid = valid && all_are(slice, reference_is_value);
        check_call(script, before, done, valid, slice.length + sizeof "HTTP/1.1 200 \r\n" - 1);
    }
    free(phrase);
}

/* Names and values from item `first` on. */
static void write_fields(struct script *script, const struct parts *parts, size_t first,
                         struct parts *written)
{
    written->count = 0;
    for (size_t i = first; i < parts->count; i += 2) {
        uvhttp_slice_t name = part_of(parts, i);
        uvhttp_slice_t value = part_of(parts, i + 1);
        uvhttp_slice_t sent = reference_trimmed(value);
        bool valid = is_name(name) && all_are(value, reference_is_value);
        size_t before = script->writer.length;
        bool done = uvhttp_writer_field_slice(&script->writer, name, value);
        check_call(script, before, done, valid, name.length + sent.length + sizeof ": \r\n" - 1);
        if (done) {
            written->items[written->count++] = name;
            written->items[written->count++] = sent;
        }
    }
}

static void write_end(struct script *script)
{
    size_t before = script->writer.length;
    check_call(script, before, uvhttp_writer_end(&script->writer), true, 2);
}

static size_t hex_digits(size_t number)
{
    size_t digits = 1;
    while ((number /= 16) > 0)
        digits++;
    return digits;
}

/* Writes each part as a chunk. Every other one is written with separate calls for its line, its
 * data and its end. */
static void write_chunks(struct script *script)
{
    for (size_t i = 0; i < script->body.count; i++) {
        uvhttp_slice_t data = script->body.items[i];
        size_t before = script->writer.length;
        size_t line = hex_digits(data.length) + 2;
        if (i % 2 == 0) {
            bool done = uvhttp_writer_chunk(&script->writer, data.base, data.length);
            check_call(script, before, done, true, data.length > 0 ? line + data.length + 2 : 0);
        } else {
            bool done = uvhttp_writer_chunk_line(&script->writer, data.length);
            check_call(script, before, done, data.length > 0, line);
            before = script->writer.length;
            done = uvhttp_writer_bytes(&script->writer, data.base, data.length);
            check_call(script, before, done, true, data.length);
            write_end(script);
        }
        memcpy(script->body_bytes + script->body_length, data.base, data.length);
        script->body_length += data.length;
    }
    size_t before = script->writer.length;
    check_call(script, before, uvhttp_writer_last_chunk(&script->writer), true, 3);
}

static void check_fields(const uvhttp_head_t *head, const struct parts *written)
{
    require(2u * head->field_count == written->count);
    for (unsigned i = 0; i < head->field_count; i++) {
        const uvhttp_field_t *field = &head->fields[i];
        uvhttp_slice_t name = {head->base + field->name_offset, field->name_length};
        uvhttp_slice_t value = {head->base + field->value_offset, field->value_length};
        require(slice_equal(name, written->items[2 * i]) &&
                slice_equal(value, written->items[2 * i + 1]));
        require(field->id == reference_field_id(name.base, name.length));
    }
}

static size_t read_head(const struct script *script, const uvhttp_head_limits_t *limits)
{
    static uvhttp_field_t table[MAX_PARTS];
    static uvhttp_head_t head;
    const uvhttp_writer_t *writer = &script->writer;
    uvhttp_head_init(&head, table, MAX_PARTS);
    uvhttp_parse_result_t result =
        script->response ? uvhttp_response_head_parse(&head, writer->memory, writer->length, limits)
                         : uvhttp_request_head_parse(&head, writer->memory, writer->length, limits);
    require(result == UVHTTP_PARSE_DONE && head.start == 0 && head.minor_version == 1);
    if (script->response) {
        char *phrase = string_of(part_of(&script->head, 0));
        uvhttp_slice_t read = {head.base + head.reason_phrase_offset, head.reason_phrase_length};
        require(head.status == script->status);
        require(script->registered || slice_equal(read, (uvhttp_slice_t){phrase, strlen(phrase)}));
        free(phrase);
    } else {
        uvhttp_slice_t method = {head.base + head.start, head.method_length};
        uvhttp_slice_t target = {head.base + head.target_offset, head.target_length};
        require(slice_equal(method, script->method) && slice_equal(target, script->target));
    }
    check_fields(&head, &script->written_fields);
    return head.size;
}

static void read_trailers(const struct script *script, const char *data, size_t length,
                          const uvhttp_head_limits_t *limits)
{
    static uvhttp_field_t table[MAX_PARTS];
    static uvhttp_head_t head;
    bool forbidden = false;
    for (size_t i = 0; i < script->written_trailers.count; i += 2) {
        uvhttp_slice_t name = script->written_trailers.items[i];
        forbidden = forbidden || reference_forbidden_trailer(name.base, name.length);
    }
    uvhttp_head_init(&head, table, MAX_PARTS);
    uvhttp_parse_result_t result = uvhttp_trailers_parse(&head, data, length, limits);
    if (forbidden) {
        require(result == UVHTTP_PARSE_BAD && head.reason == UVHTTP_REASON_TRAILER_FORBIDDEN);
        return;
    }
    require(result == UVHTTP_PARSE_DONE && head.size == length);
    check_fields(&head, &script->written_trailers);
}

/* All was written: all must be parsed. */
static void read_back(const struct script *script)
{
    const uvhttp_writer_t *writer = &script->writer;
    uvhttp_head_limits_t limits = {(uint32_t)writer->length + 1, (uint32_t)writer->length,
                                   MAX_PARTS};
    size_t head_size = read_head(script, &limits);
    char *body = exact_copy(writer->memory + head_size, writer->length - head_size);
    uvhttp_chunked_t decoder;
    size_t consumed;
    size_t body_length;
    uvhttp_chunked_init(&decoder, 0);
    require(uvhttp_chunked_decode_in_place(&decoder, body, writer->length - head_size, &consumed,
                                           &body_length) == UVHTTP_PARSE_DONE);
    require(body_length == script->body_length &&
            memcmp(body, script->body_bytes, body_length) == 0);
    free(body);
    read_trailers(script, writer->memory + head_size + consumed,
                  writer->length - head_size - consumed, &limits);
}

/* Not all was written: the complete lines so far are an incomplete message, not a malformed one. */
static void read_prefix(const struct script *script)
{
    static uvhttp_field_t table[MAX_PARTS];
    static uvhttp_head_t head;
    const uvhttp_writer_t *writer = &script->writer;
    uvhttp_head_limits_t limits = {(uint32_t)writer->length + 1, (uint32_t)writer->length,
                                   MAX_PARTS};
    uvhttp_head_init(&head, table, MAX_PARTS);
    uvhttp_parse_result_t result =
        script->response
            ? uvhttp_response_head_parse(&head, writer->memory, writer->length, &limits)
            : uvhttp_request_head_parse(&head, writer->memory, writer->length, &limits);
    require(result != UVHTTP_PARSE_BAD);
    require(result == UVHTTP_PARSE_DONE || writer->length == 0 ||
            writer->memory[writer->length - 1] == '\n');
}

static void parse_script(struct script *script, const uint8_t *data, size_t size)
{
    uvhttp_slice_t rest = {(const char *)data, size};
    uvhttp_slice_t section = {"", 0};
    reference_split(&rest, SECTION, &section);
    split(section, &script->head);
    section = (uvhttp_slice_t){"", 0};
    reference_split(&rest, SECTION, &section);
    split(section, &script->body);
    split(rest, &script->trailers);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct script script;
    if (size < 4)
        return 0;
    size_t capacity = data[0] == 0xff ? 4 * size + 1024 : data[0] * 8u;
    char *memory = malloc(capacity > 0 ? capacity : 1);
    script.body_bytes = malloc(size);
    require(memory != NULL && script.body_bytes != NULL);
    script.body_length = 0;
    script.failed = false;
    script.response = data[1] & 1;
    script.registered = data[1] & 2;
    script.slices = data[1] & 4;
    script.status = (data[2] << 8 | data[3]) % 2048 - 512;
    parse_script(&script, data + 4, size - 4);
    uvhttp_writer_init(&script.writer, memory, capacity);
    if (script.response)
        write_status_line(&script);
    else
        write_request_line(&script);
    write_fields(&script, &script.head, script.response ? 1 : 2, &script.written_fields);
    write_end(&script);
    write_chunks(&script);
    write_fields(&script, &script.trailers, 0, &script.written_trailers);
    write_end(&script);
    for (size_t at = 0; backends_next(&at);) {
        if (script.failed)
            read_prefix(&script);
        else
            read_back(&script);
    }
    free(memory);
    free(script.body_bytes);
    return 0;
}

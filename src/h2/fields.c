/* Field blocks of responses: encoded without state, so that they are valid on every connection and
 * in any order. */
#include "h2/h2.h"

#include <string.h>

#include <uvhttp/error.h>

#include "codec/fields/field.h"
#include "codec/text/number.h"

/* Status, Date, Content-Length: at most 100 bytes. */
enum { FIXED_SIZE = 128 };

static const uvhttp_slice_t content_type = {"content-type", 12};
static const uvhttp_slice_t content_length = {"content-length", 14};

static size_t list_size(const struct uvh_header_list *list)
{
    size_t size = 0;
    for (uint16_t i = 0; i < list->count; i++)
        size += list->items[i].name.length + list->items[i].value.length + UVH_HPACK_FIELD_EXTRA;
    return size;
}

static size_t fields_size(const struct uvhttp_response *response)
{
    size_t size =
        list_size(&response->headers) + response->content_type.length + UVH_HPACK_FIELD_EXTRA;
    return size + (response->prepared == NULL ? 0 : response->prepared->block.length);
}

static char *put_list(char *out, const char *end, const struct uvh_header_list *list, bool typed)
{
    for (uint16_t i = 0; i < list->count; i++) {
        const struct uvh_header *header = &list->items[i];
        if ((typed && uvh_field_name_is(header->name, content_type)) ||
            uvh_response_is_connection_field(header->name))
            continue;
        out += uvh_hpack_encode_field(out, (size_t)(end - out), header->name, header->value);
    }
    return out;
}

static char *put_fields(char *out, const char *end, const struct uvhttp_response *response)
{
    const uvhttp_prepared_t *prepared = response->prepared;
    bool typed = response->content_type.base != NULL;
    if (typed)
        out +=
            uvh_hpack_encode_field(out, (size_t)(end - out), content_type, response->content_type);
    typed |= prepared != NULL && prepared->has_content_type;
    out = put_list(out, end, &response->headers, typed);
    if (prepared != NULL && prepared->block.length > 0) {
        memcpy(out, prepared->block.data, prepared->block.length);
        out += prepared->block.length;
    }
    return out;
}

/* Begins a field block, in at most one byte. */
static char *begin_block(char *out, struct uvh_h2 *h2)
{
    if (UVH_UNLIKELY(h2->table_update_due)) {
        h2->table_update_due = false;
        h2->table_empty = true;
        *out++ = UVH_HPACK_TABLE_SIZE_0;
    }
    return out;
}

static char *put_status(char *out, struct uvh_h2 *h2, int status)
{
    out = begin_block(out, h2);
    return out + uvh_hpack_encode_status(out, status);
}

static char *put_head(char *out, const char *end, struct uvh_h2_stream *stream)
{
    const struct uvhttp_response *response = &stream->base.response;
    uvhttp_slice_t date = uvh_worker_date_field(stream->base.worker);
    out = put_status(out, stream->h2, response->status);
    memcpy(out, date.base, date.length);
    out = put_fields(out + date.length, end, response);
    /* 304 would need the length of the corresponding 200 (RFC 9110 section 8.6), which is not known
     * here. */
    if (!uvh_response_is_bodiless(response->status) && response->body.source != UVH_BODY_STREAM &&
        response->body.size != UVHTTP_LENGTH_UNKNOWN) {
        char digits[UVH_NUMBER_SIZE];
        uvhttp_slice_t length = {digits, uvh_number_write(digits, response->body.size)};
        out += uvh_hpack_encode_field(out, (size_t)(end - out), content_length, length);
    }
    return out;
}

/* Bytes of the frames of a block of `size` bytes. */
static size_t framed_size(size_t size)
{
    return size + (size / UVH_H2_FRAME_SIZE + 1) * UVH_H2_HEAD_SIZE;
}

/* Turns a block of `size` bytes, written after the space for one frame header, into HEADERS and, if
 * necessary, CONTINUATION frames. Returns the bytes of all. */
static size_t frame_block(const struct uvh_h2_stream *stream, char *begin, size_t size, bool ends)
{
    size_t frames = size == 0 ? 1 : (size + UVH_H2_FRAME_SIZE - 1) / UVH_H2_FRAME_SIZE;
    char *block = begin + UVH_H2_HEAD_SIZE;
    for (size_t i = frames; i-- > 0;) { /* the last one first, since they move to the right */
        size_t offset = i * UVH_H2_FRAME_SIZE;
        size_t part = i == frames - 1 ? size - offset : UVH_H2_FRAME_SIZE;
        char *at = begin + offset + i * UVH_H2_HEAD_SIZE;
        memmove(at + UVH_H2_HEAD_SIZE, block + offset, part);
        struct uvh_h2_frame frame = {.length = (uint32_t)part,
                                     .stream = stream->id,
                                     .type = i == 0 ? UVH_H2_HEADERS : UVH_H2_CONTINUATION};
        if (i == frames - 1)
            frame.flags = UVH_H2_END_HEADERS;
        if (i == 0 && ends)
            frame.flags |= UVH_H2_END_STREAM;
        uvh_h2_write_head(at, &frame);
    }
    return size + frames * UVH_H2_HEAD_SIZE;
}

int uvh_h2_fields_put(struct uvh_h2_stream *stream, bool ends, size_t space_after)
{
    struct uvh_conn *conn = stream->h2->conn;
    const struct uvhttp_response *response = &stream->base.response;
    size_t most = FIXED_SIZE + fields_size(response);
    int err;
    if (response->close_after)
        uvh_h2_shut_down(stream->h2);
    if (stream->closed)
        return UVHTTP_EDISCONNECTED;
    char *begin = uvh_output_reserve(conn, framed_size(most) + space_after, &err);
    if (err == UVHTTP_EDISCONNECTED) /* perhaps while the connection ends its streams */
        uvh_h2_abort(stream);
    if (begin == NULL)
        return err;
    char *block = begin + UVH_H2_HEAD_SIZE;
    size_t size = (size_t)(put_head(block, block + most, stream) - block);
    size = frame_block(stream, begin, size, ends);
    uvh_output_commit(conn, size);
    stream->base.sent += size;
    conn->shared->file_share.responses++;
    uvh_counters_response(&stream->base.worker->counters, response->status);
    return 0;
}

int uvh_h2_fields_put_interim(struct uvh_h2_stream *stream, int status, bool with_fields)
{
    struct uvh_conn *conn = stream->h2->conn;
    size_t most = FIXED_SIZE + fields_size(&stream->base.response);
    int err;
    char *begin = uvh_output_reserve(conn, framed_size(most), &err);
    if (begin == NULL)
        return err;
    char *block = begin + UVH_H2_HEAD_SIZE;
    char *out = put_status(block, stream->h2, status);
    if (with_fields)
        out = put_fields(out, block + most, &stream->base.response);
    uvh_output_commit(conn, frame_block(stream, begin, (size_t)(out - block), false));
    uvh_counter_add(&stream->base.worker->counters.responses_1xx, 1);
    return 0;
}

int uvh_h2_fields_put_trailers(struct uvh_h2_stream *stream)
{
    const struct uvh_header_list *trailers = &stream->base.response.trailers;
    struct uvh_conn *conn = stream->h2->conn;
    size_t most = 1 + list_size(trailers);
    int err;
    char *begin = uvh_output_reserve(conn, framed_size(most), &err);
    if (begin == NULL)
        return err;
    char *block = begin + UVH_H2_HEAD_SIZE;
    char *out = put_list(begin_block(block, stream->h2), block + most, trailers, false);
    size_t size = frame_block(stream, begin, (size_t)(out - block), true);
    uvh_output_commit(conn, size);
    stream->base.sent += size;
    return 0;
}

/* Chunked transfer coding (RFC 9112 section 7.1): a state machine over the chunk lines, with a fast
 * path for plain ones. Chunk data is passed through in one step, or moved together in the receive
 * buffer.
 *
 *   chunk     = 1*HEXDIG [ chunk-ext ] CRLF data CRLF
 *   chunk-ext = *( BWS ";" BWS name [ BWS "=" BWS ( token / quoted-string ) ] )
 *
 * Also part of the parser library. */
#include <uvhttp/parser.h>

#include <string.h>

#include "codec/text/chars.h"

enum { MAX_SIZE_DIGITS = 16 };

enum state {
    STATE_SIZE,          /* hexadecimal digits */
    STATE_EXT_OR_END,    /* after BWS: only ';' may follow */
    STATE_NAME_START,    /* after ';' and BWS */
    STATE_NAME,          /* in the extension's name */
    STATE_NAME_END,      /* after the name and BWS: ';' or '=' */
    STATE_VALUE_START,   /* after '=' and BWS */
    STATE_VALUE,         /* in a token */
    STATE_QUOTED,        /* in a quoted string */
    STATE_QUOTED_ESCAPE, /* after a backslash in it */
    STATE_QUOTED_END,    /* after the closing quote */
    STATE_LINE_FEED,     /* LF of a chunk line */
    STATE_DATA,
    STATE_DATA_CR,
    STATE_DATA_LF,
    STATE_DONE,
    STATE_BAD
};

static void refuse(uvhttp_chunked_t *decoder, uvhttp_reason_t reason)
{
    decoder->state = STATE_BAD;
    decoder->reason = (uint16_t)reason;
}

/* A byte of the size. Sixteen digits cannot overflow 64 bits. */
static void step_size(uvhttp_chunked_t *decoder, char c)
{
    uint8_t digit = uvh_chars_hex[(unsigned char)c];
    if (digit != 0xff) {
        if (decoder->digits == MAX_SIZE_DIGITS) {
            refuse(decoder, UVHTTP_REASON_CHUNK_SIZE);
            return;
        }
        decoder->digits++;
        decoder->remaining = decoder->remaining << 4 | digit;
        return;
    }
    if (decoder->digits == 0)
        refuse(decoder, UVHTTP_REASON_CHUNK_SIZE);
    else if (c == '\r')
        decoder->state = STATE_LINE_FEED;
    else if (c == '\n')
        refuse(decoder, UVHTTP_REASON_LINE_END);
    else if (c == ';')
        decoder->state = STATE_NAME_START;
    else if (uvh_chars_is(c, UVH_CHAR_SPACE))
        decoder->state = STATE_EXT_OR_END;
    else
        refuse(decoder, UVHTTP_REASON_CHUNK_SIZE);
}

/* The bytes allowed after an extension's name or value: the line's end, the next extension, or BWS
 * before the latter. True if `c` was one of these. */
static bool step_extension_end(uvhttp_chunked_t *decoder, char c, enum state after_space)
{
    if (c == '\r')
        decoder->state = STATE_LINE_FEED;
    else if (c == ';')
        decoder->state = STATE_NAME_START;
    else if (uvh_chars_is(c, UVH_CHAR_SPACE))
        decoder->state = (uint8_t)after_space;
    else
        return false;
    return true;
}

/* A byte inside a quoted string (RFC 9110 section 5.6.4). */
static bool step_quoted(uvhttp_chunked_t *decoder, char c)
{
    if (decoder->state == STATE_QUOTED_ESCAPE) {
        decoder->state = STATE_QUOTED;
        return uvh_chars_is(c, UVH_CHAR_VALUE);
    }
    if (c == '"')
        decoder->state = STATE_QUOTED_END;
    else if (c == '\\')
        decoder->state = STATE_QUOTED_ESCAPE;
    else
        return uvh_chars_is(c, UVH_CHAR_QDTEXT);
    return true;
}

/* A byte of an extension; false on a syntax error. */
static bool step_extension(uvhttp_chunked_t *decoder, char c)
{
    bool space = uvh_chars_is(c, UVH_CHAR_SPACE);
    bool token = uvh_chars_is(c, UVH_CHAR_TOKEN);
    switch (decoder->state) {
    case STATE_EXT_OR_END:
        if (c == ';')
            decoder->state = STATE_NAME_START;
        return space || c == ';';
    case STATE_NAME_START:
        if (token)
            decoder->state = STATE_NAME;
        return space || token;
    case STATE_NAME:
        if (c == '=')
            decoder->state = STATE_VALUE_START;
        return token || c == '=' || step_extension_end(decoder, c, STATE_NAME_END);
    case STATE_NAME_END:
        if (c == '=')
            decoder->state = STATE_VALUE_START;
        else if (c == ';')
            decoder->state = STATE_NAME_START;
        return space || c == '=' || c == ';';
    case STATE_VALUE_START:
        if (c == '"')
            decoder->state = STATE_QUOTED;
        else if (token)
            decoder->state = STATE_VALUE;
        return space || token || c == '"';
    case STATE_VALUE:
        return token || step_extension_end(decoder, c, STATE_EXT_OR_END);
    case STATE_QUOTED:
    case STATE_QUOTED_ESCAPE:
        return step_quoted(decoder, c);
    default: /* STATE_QUOTED_END */
        return step_extension_end(decoder, c, STATE_EXT_OR_END);
    }
}

/* The line is complete: data follows, or it was the last chunk. */
static void step_line_feed(uvhttp_chunked_t *decoder, char c)
{
    if (c != '\n') {
        refuse(decoder, UVHTTP_REASON_LINE_END);
        return;
    }
    decoder->state = decoder->remaining > 0 ? STATE_DATA : STATE_DONE;
    decoder->digits = 0;
    decoder->extension_size = 0;
}

/* A byte that is not chunk data. Keeps the state or changes it. */
static void step(uvhttp_chunked_t *decoder, char c)
{
    switch (decoder->state) {
    case STATE_SIZE:
        step_size(decoder, c);
        break;
    case STATE_LINE_FEED:
        step_line_feed(decoder, c);
        return;
    case STATE_DATA_CR:
        decoder->state = STATE_DATA_LF;
        if (c != '\r')
            refuse(decoder, UVHTTP_REASON_CHUNK_END);
        return;
    case STATE_DATA_LF:
        decoder->state = STATE_SIZE;
        if (c != '\n')
            refuse(decoder, UVHTTP_REASON_CHUNK_END);
        return;
    default:
        if (!step_extension(decoder, c))
            refuse(decoder, c == '\n' ? UVHTTP_REASON_LINE_END : UVHTTP_REASON_CHUNK_EXTENSION);
        break;
    }
    bool in_extension = decoder->state > STATE_SIZE && decoder->state < STATE_LINE_FEED;
    if (in_extension && ++decoder->extension_size > decoder->max_extension)
        refuse(decoder, UVHTTP_REASON_CHUNK_EXTENSION);
}

/* The fast path for a complete chunk line without extensions, with the CR LF of the preceding data.
 * Returns the bytes consumed, or 0 if step() is needed; at most twenty bytes are then read again,
 * at most three times. */
static inline size_t take_line(uvhttp_chunked_t *decoder, const char *data, size_t length)
{
    size_t first = 0;
    if (decoder->state == STATE_DATA_CR) {
        if (length < 2 || data[0] != '\r' || data[1] != '\n')
            return 0;
        first = 2;
    } else if (decoder->state != STATE_SIZE || decoder->digits != 0) {
        return 0;
    }
    size_t end = length - first < MAX_SIZE_DIGITS ? length : first + MAX_SIZE_DIGITS;
    size_t at = first;
    uint64_t size = 0;
    uint8_t digit;
    while (at < end && (digit = uvh_chars_hex[(unsigned char)data[at]]) != 0xff) {
        size = size << 4 | digit;
        at++;
    }
    if (at == first || length - at < 2 || data[at] != '\r' || data[at + 1] != '\n')
        return 0;
    decoder->remaining = size;
    decoder->state = size > 0 ? STATE_DATA : STATE_DONE;
    return at + 2;
}

void uvhttp_chunked_init(uvhttp_chunked_t *decoder, uint32_t max_extension)
{
    if (decoder != NULL)
        *decoder = (uvhttp_chunked_t){.state = STATE_SIZE, .max_extension = max_extension};
}

/* A NULL pointer with a length: a permanent error. */
static bool is_refused(uvhttp_chunked_t *decoder, const char *data, size_t length)
{
    if (decoder != NULL && (data != NULL || length == 0))
        return false;
    if (decoder != NULL)
        refuse(decoder, UVHTTP_REASON_ARGUMENT);
    return true;
}

uvhttp_parse_result_t uvhttp_chunked_decode(uvhttp_chunked_t *decoder, const char *data,
                                            size_t length, size_t *consumed, uvhttp_slice_t *part)
{
    size_t at = 0;
    size_t ignored;
    uvhttp_slice_t skipped;
    consumed = consumed != NULL ? consumed : &ignored;
    part = part != NULL ? part : &skipped;
    *consumed = 0;
    *part = (uvhttp_slice_t){NULL, 0};
    if (is_refused(decoder, data, length))
        return UVHTTP_PARSE_BAD;
    while (at < length && decoder->state != STATE_DATA && decoder->state < STATE_DONE) {
        size_t line = take_line(decoder, data + at, length - at);
        if (line == 0) {
            step(decoder, data[at]);
            if (decoder->state == STATE_BAD)
                break;
            line = 1;
        }
        at += line;
    }
    if (decoder->state == STATE_DATA && at < length) {
        size_t rest = length - at;
        size_t taken = decoder->remaining < rest ? (size_t)decoder->remaining : rest;
        *part = (uvhttp_slice_t){data + at, taken};
        at += taken;
        decoder->remaining -= taken;
        if (decoder->remaining == 0)
            decoder->state = STATE_DATA_CR;
    }
    *consumed = at;
    if (decoder->state == STATE_BAD)
        return UVHTTP_PARSE_BAD;
    return decoder->state == STATE_DONE ? UVHTTP_PARSE_DONE : UVHTTP_PARSE_MORE;
}

uvhttp_parse_result_t uvhttp_chunked_decode_in_place(uvhttp_chunked_t *decoder, char *data,
                                                     size_t length, size_t *consumed, size_t *body)
{
    size_t used = 0;
    size_t kept = 0;
    size_t ignored;
    uvhttp_parse_result_t result;
    consumed = consumed != NULL ? consumed : &ignored;
    body = body != NULL ? body : &ignored;
    *consumed = *body = 0;
    if (is_refused(decoder, data, length))
        return UVHTTP_PARSE_BAD;
    do {
        size_t step_used;
        uvhttp_slice_t part;
        result = uvhttp_chunked_decode(decoder, data + used, length - used, &step_used, &part);
        if (part.length > 0 && part.base != data + kept)
            memmove(data + kept, part.base, part.length);
        kept += part.length;
        used += step_used;
    } while (result == UVHTTP_PARSE_MORE && used < length);
    *consumed = used;
    *body = kept;
    return result;
}

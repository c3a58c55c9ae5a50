/* The reference parser, part 4: chunked bodies up to the line of the last chunk (RFC 9112 section
 * 7.1).
 *
 *   chunk     = 1*HEXDIG [ chunk-ext ] CRLF chunk-data CRLF
 *   chunk-ext = *( BWS ";" BWS chunk-ext-name [ BWS "=" BWS chunk-ext-val ] )
 *
 * The first byte that does not match is the error. If it breaks two rules, the grammar comes before
 * the limit of extensions. See bytes.h about the reference parser. */
#ifndef UVH_TESTS_REFERENCE_CHUNKED_H
#define UVH_TESTS_REFERENCE_CHUNKED_H

#include <uvhttp/parser.h>

#include "reference/bytes.h"

enum { REFERENCE_SIZE_DIGITS = 16 }; /* 64 bits */

struct reference_chunked {
    uvhttp_parse_result_t result;
    uvhttp_reason_t reason;
    size_t consumed;
    size_t data_length;
    char *data; /* set by the caller; has space for the whole input */
};

struct reference_chunks {
    const char *bytes;
    size_t length;
    size_t at;
    size_t extension; /* size of the current chunk's extensions */
    size_t max_extension;
    struct reference_chunked *out;
};

/* Both return false, so that a rule can end with them. */
static inline bool reference_chunks_more(struct reference_chunks *chunks)
{
    chunks->out->result = UVHTTP_PARSE_MORE;
    return false;
}

static inline bool reference_chunks_reject(struct reference_chunks *chunks, uvhttp_reason_t reason)
{
    chunks->out->result = UVHTTP_PARSE_BAD;
    chunks->out->reason = reason;
    return false;
}

/* Reads a byte. Returns false with UVHTTP_PARSE_MORE at the end of the input. */
static inline bool reference_chunks_byte(struct reference_chunks *chunks, char *c)
{
    if (chunks->at == chunks->length)
        return reference_chunks_more(chunks);
    *c = chunks->bytes[chunks->at];
    return true;
}

static inline bool reference_chunk_size(struct reference_chunks *chunks, uint64_t *size)
{
    char c;
    int digits = 0;
    for (*size = 0; reference_chunks_byte(chunks, &c); chunks->at++) {
        int digit = reference_hex(c);
        if (digit < 0 && digits > 0)
            return true;
        if (digit < 0 || digits == REFERENCE_SIZE_DIGITS)
            return reference_chunks_reject(chunks, UVHTTP_REASON_CHUNK_SIZE);
        *size = *size * 16 + (uint64_t)digit;
        digits++;
    }
    return false;
}

/* Consumes the current byte as a part of an extension. */
static inline bool reference_extension_take(struct reference_chunks *chunks)
{
    if (chunks->extension == chunks->max_extension)
        return reference_chunks_reject(chunks, UVHTTP_REASON_CHUNK_EXTENSION);
    chunks->extension++;
    chunks->at++;
    return true;
}

/* The current byte is not allowed in an extension. */
static inline bool reference_extension_reject(struct reference_chunks *chunks, char c)
{
    return reference_chunks_reject(chunks, c == '\n' ? UVHTTP_REASON_LINE_END
                                                     : UVHTTP_REASON_CHUNK_EXTENSION);
}

/* *( the bytes for which `is` returns true ). `*c` is the byte after them. */
static inline bool reference_extension_run(struct reference_chunks *chunks, bool (*is)(char),
                                           char *c)
{
    while (reference_chunks_byte(chunks, c)) {
        if (!is(*c))
            return true;
        if (!reference_extension_take(chunks))
            return false;
    }
    return false;
}

/* 1*tchar */
static inline bool reference_extension_token(struct reference_chunks *chunks)
{
    char c;
    if (!reference_chunks_byte(chunks, &c))
        return false;
    if (!reference_is_token(c))
        return reference_extension_reject(chunks, c);
    return reference_extension_run(chunks, reference_is_token, &c);
}

/* quoted-string (RFC 9110 section 5.6.4), from the opening quote on */
static inline bool reference_extension_quoted(struct reference_chunks *chunks)
{
    char c;
    if (!reference_extension_take(chunks))
        return false;
    while (reference_extension_run(chunks, reference_is_qdtext, &c)) {
        if (c != '"' && c != '\\')
            return reference_extension_reject(chunks, c);
        if (!reference_extension_take(chunks))
            return false;
        if (c == '"')
            return true;
        if (!reference_chunks_byte(chunks, &c)) /* quoted-pair */
            return false;
        if (!reference_is_value(c))
            return reference_extension_reject(chunks, c);
        if (!reference_extension_take(chunks))
            return false;
    }
    return false;
}

/* BWS "=" BWS chunk-ext-val, from the "=" on */
static inline bool reference_extension_value(struct reference_chunks *chunks)
{
    char c;
    if (!reference_extension_take(chunks) ||
        !reference_extension_run(chunks, reference_is_space, &c))
        return false;
    return c == '"' ? reference_extension_quoted(chunks) : reference_extension_token(chunks);
}

/* [ chunk-ext ] up to the CR */
static inline bool reference_extensions(struct reference_chunks *chunks)
{
    char c;
    for (bool first = true;; first = false) {
        if (!reference_chunks_byte(chunks, &c))
            return false;
        if (c == '\r')
            return true;
        /* Only these bytes may follow a size. Any other one makes the size invalid. */
        if (first && c != ';' && c != '\n' && !reference_is_space(c))
            return reference_chunks_reject(chunks, UVHTTP_REASON_CHUNK_SIZE);
        if (!reference_extension_run(chunks, reference_is_space, &c))
            return false;
        if (c == ';') {
            if (!reference_extension_take(chunks) ||
                !reference_extension_run(chunks, reference_is_space, &c) ||
                !reference_extension_token(chunks))
                return false;
            /* White space here precedes "=" or the next ";". */
            size_t name_end = chunks->at;
            if (!reference_extension_run(chunks, reference_is_space, &c))
                return false;
            if (c == '=') {
                if (!reference_extension_value(chunks))
                    return false;
            } else if (c != ';' && chunks->at > name_end) {
                return reference_extension_reject(chunks, c);
            }
        } else {
            return reference_extension_reject(chunks, c);
        }
    }
}

/* CRLF, each byte rejected with `reason` */
static inline bool reference_chunks_line_end(struct reference_chunks *chunks,
                                             uvhttp_reason_t reason)
{
    char c;
    for (const char *form = "\r\n"; *form != '\0'; form++, chunks->at++) {
        if (!reference_chunks_byte(chunks, &c))
            return false;
        if (c != *form)
            return reference_chunks_reject(chunks, reason);
    }
    return true;
}

static inline bool reference_chunk_data(struct reference_chunks *chunks, uint64_t size)
{
    char c;
    for (; size > 0; size--, chunks->at++) {
        if (!reference_chunks_byte(chunks, &c))
            return false;
        chunks->out->data[chunks->out->data_length++] = c;
    }
    return true;
}

static inline void reference_chunked_decode(struct reference_chunked *out, const char *bytes,
                                            size_t length, size_t max_extension)
{
    struct reference_chunks chunks = {bytes, length, 0, 0, max_extension, out};
    out->result = UVHTTP_PARSE_DONE;
    out->reason = UVHTTP_REASON_NONE;
    out->data_length = 0;
    for (bool more = true; more;) {
        uint64_t size;
        chunks.extension = 0;
        more = reference_chunk_size(&chunks, &size) && reference_extensions(&chunks) &&
               reference_chunks_line_end(&chunks, UVHTTP_REASON_LINE_END) && size > 0 &&
               reference_chunk_data(&chunks, size) &&
               reference_chunks_line_end(&chunks, UVHTTP_REASON_CHUNK_END);
    }
    out->consumed = chunks.at;
}

#endif

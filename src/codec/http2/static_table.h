/* The static table of HPACK (RFC 7541 appendix A): 61 fields with the indexes 1 to 61. Called by
 * the decoder and the encoder. */
#ifndef UVH_CODEC_HTTP2_STATIC_TABLE_H
#define UVH_CODEC_HTTP2_STATIC_TABLE_H

#include "base/compiler.h"
#include "codec/http2/hpack.h"

/* Id, name, value. */
#define UVH_HPACK_STATIC_MAP(X)                                         \
    X(UVH_HPACK_AUTHORITY, ":authority", "")                            \
    X(UVH_HPACK_METHOD, ":method", "GET")                               \
    X(UVH_HPACK_METHOD, ":method", "POST")                              \
    X(UVH_HPACK_PATH, ":path", "/")                                     \
    X(UVH_HPACK_PATH, ":path", "/index.html")                           \
    X(UVH_HPACK_SCHEME, ":scheme", "http")                              \
    X(UVH_HPACK_SCHEME, ":scheme", "https")                             \
    X(UVH_HPACK_STATUS, ":status", "200")                               \
    X(UVH_HPACK_STATUS, ":status", "204")                               \
    X(UVH_HPACK_STATUS, ":status", "206")                               \
    X(UVH_HPACK_STATUS, ":status", "304")                               \
    X(UVH_HPACK_STATUS, ":status", "400")                               \
    X(UVH_HPACK_STATUS, ":status", "404")                               \
    X(UVH_HPACK_STATUS, ":status", "500")                               \
    X(UVHTTP_FIELD_OTHER, "accept-charset", "")                         \
    X(UVHTTP_FIELD_ACCEPT_ENCODING, "accept-encoding", "gzip, deflate") \
    X(UVHTTP_FIELD_ACCEPT_LANGUAGE, "accept-language", "")              \
    X(UVHTTP_FIELD_OTHER, "accept-ranges", "")                          \
    X(UVHTTP_FIELD_ACCEPT, "accept", "")                                \
    X(UVHTTP_FIELD_OTHER, "access-control-allow-origin", "")            \
    X(UVHTTP_FIELD_OTHER, "age", "")                                    \
    X(UVHTTP_FIELD_OTHER, "allow", "")                                  \
    X(UVHTTP_FIELD_AUTHORIZATION, "authorization", "")                  \
    X(UVHTTP_FIELD_CACHE_CONTROL, "cache-control", "")                  \
    X(UVHTTP_FIELD_OTHER, "content-disposition", "")                    \
    X(UVHTTP_FIELD_CONTENT_ENCODING, "content-encoding", "")            \
    X(UVHTTP_FIELD_OTHER, "content-language", "")                       \
    X(UVHTTP_FIELD_CONTENT_LENGTH, "content-length", "")                \
    X(UVHTTP_FIELD_OTHER, "content-location", "")                       \
    X(UVHTTP_FIELD_OTHER, "content-range", "")                          \
    X(UVHTTP_FIELD_CONTENT_TYPE, "content-type", "")                    \
    X(UVHTTP_FIELD_COOKIE, "cookie", "")                                \
    X(UVHTTP_FIELD_DATE, "date", "")                                    \
    X(UVHTTP_FIELD_ETAG, "etag", "")                                    \
    X(UVHTTP_FIELD_EXPECT, "expect", "")                                \
    X(UVHTTP_FIELD_OTHER, "expires", "")                                \
    X(UVHTTP_FIELD_OTHER, "from", "")                                   \
    X(UVHTTP_FIELD_HOST, "host", "")                                    \
    X(UVHTTP_FIELD_IF_MATCH, "if-match", "")                            \
    X(UVHTTP_FIELD_IF_MODIFIED_SINCE, "if-modified-since", "")          \
    X(UVHTTP_FIELD_IF_NONE_MATCH, "if-none-match", "")                  \
    X(UVHTTP_FIELD_IF_RANGE, "if-range", "")                            \
    X(UVHTTP_FIELD_IF_UNMODIFIED_SINCE, "if-unmodified-since", "")      \
    X(UVHTTP_FIELD_LAST_MODIFIED, "last-modified", "")                  \
    X(UVHTTP_FIELD_OTHER, "link", "")                                   \
    X(UVHTTP_FIELD_LOCATION, "location", "")                            \
    X(UVHTTP_FIELD_OTHER, "max-forwards", "")                           \
    X(UVHTTP_FIELD_OTHER, "proxy-authenticate", "")                     \
    X(UVHTTP_FIELD_OTHER, "proxy-authorization", "")                    \
    X(UVHTTP_FIELD_RANGE, "range", "")                                  \
    X(UVHTTP_FIELD_REFERER, "referer", "")                              \
    X(UVHTTP_FIELD_OTHER, "refresh", "")                                \
    X(UVHTTP_FIELD_OTHER, "retry-after", "")                            \
    X(UVHTTP_FIELD_SERVER, "server", "")                                \
    X(UVHTTP_FIELD_SET_COOKIE, "set-cookie", "")                        \
    X(UVHTTP_FIELD_OTHER, "strict-transport-security", "")              \
    X(UVHTTP_FIELD_TRANSFER_ENCODING, "transfer-encoding", "")          \
    X(UVHTTP_FIELD_USER_AGENT, "user-agent", "")                        \
    X(UVHTTP_FIELD_VARY, "vary", "")                                    \
    X(UVHTTP_FIELD_OTHER, "via", "")                                    \
    X(UVHTTP_FIELD_OTHER, "www-authenticate", "")

enum {
    UVH_HPACK_STATIC_COUNT = 61,
    UVH_HPACK_STATIC_LINE = 32, /* bytes of the longest line */
};

/* An entry as a decoded field: its line is copied as a whole. */
struct uvh_hpack_static {
    char line[UVH_HPACK_STATIC_LINE]; /* without NUL */
    struct uvh_hpack_field field;
};

/* Index 0 is empty. */
extern UVH_INTERNAL const struct uvh_hpack_static
    uvh_hpack_static_table[UVH_HPACK_STATIC_COUNT + 1];

#endif

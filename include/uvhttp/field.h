/* Known field names (RFC 9110 section 5.1) with numeric IDs.
 *
 * A parsed head is indexed by these, so that a lookup needs no string comparison. */
#ifndef UVHTTP_FIELD_H
#define UVHTTP_FIELD_H

#define UVHTTP_FIELD_MAP(X)                                 \
    X(ACCEPT, "accept")                                     \
    X(ACCEPT_ENCODING, "accept-encoding")                   \
    X(ACCEPT_LANGUAGE, "accept-language")                   \
    X(AUTHORIZATION, "authorization")                       \
    X(CACHE_CONTROL, "cache-control")                       \
    X(CONNECTION, "connection")                             \
    X(CONTENT_ENCODING, "content-encoding")                 \
    X(CONTENT_LENGTH, "content-length")                     \
    X(CONTENT_TYPE, "content-type")                         \
    X(COOKIE, "cookie")                                     \
    X(DATE, "date")                                         \
    X(ETAG, "etag")                                         \
    X(EXPECT, "expect")                                     \
    X(FORWARDED, "forwarded")                               \
    X(HOST, "host")                                         \
    X(IF_MATCH, "if-match")                                 \
    X(IF_MODIFIED_SINCE, "if-modified-since")               \
    X(IF_NONE_MATCH, "if-none-match")                       \
    X(IF_RANGE, "if-range")                                 \
    X(IF_UNMODIFIED_SINCE, "if-unmodified-since")           \
    X(KEEP_ALIVE, "keep-alive")                             \
    X(LAST_EVENT_ID, "last-event-id")                       \
    X(LAST_MODIFIED, "last-modified")                       \
    X(LOCATION, "location")                                 \
    X(ORIGIN, "origin")                                     \
    X(RANGE, "range")                                       \
    X(REFERER, "referer")                                   \
    X(SEC_WEBSOCKET_EXTENSIONS, "sec-websocket-extensions") \
    X(SEC_WEBSOCKET_KEY, "sec-websocket-key")               \
    X(SEC_WEBSOCKET_PROTOCOL, "sec-websocket-protocol")     \
    X(SEC_WEBSOCKET_VERSION, "sec-websocket-version")       \
    X(SERVER, "server")                                     \
    X(SET_COOKIE, "set-cookie")                             \
    X(TE, "te")                                             \
    X(TRAILER, "trailer")                                   \
    X(TRANSFER_ENCODING, "transfer-encoding")               \
    X(UPGRADE, "upgrade")                                   \
    X(USER_AGENT, "user-agent")                             \
    X(VARY, "vary")                                         \
    X(X_FORWARDED_FOR, "x-forwarded-for")

/* The ID of a field name. */
typedef enum uvhttp_field_id {
    UVHTTP_FIELD_OTHER = 0,
#define UVHTTP_FIELD_ENUM(id, name) UVHTTP_FIELD_##id,
    UVHTTP_FIELD_MAP(UVHTTP_FIELD_ENUM)
#undef UVHTTP_FIELD_ENUM
        UVHTTP_FIELD_COUNT
} uvhttp_field_id_t;

#endif

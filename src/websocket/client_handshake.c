/* See client_handshake.h. */
#include "websocket/client_handshake.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <uvhttp/error.h>

#include "codec/fields/field.h"
#include "codec/text/shown.h"

#define TEXT(text) ((uvhttp_slice_t){text, sizeof(text) - 1})

enum {
    FIXED_SIZE = 256,  /* of a request: more than its fixed names and values */
    SHOWN_PHRASE = 68, /* bytes shown of a server's reason phrase */
};

static uvhttp_slice_t text_slice(const char *text)
{
    return (uvhttp_slice_t){text, strlen(text)};
}

/* ---- request ---- */

/* Fields of the handshake itself, fields that announce a body, and fields that request a response
 * the client does not wait for. */
static bool is_ours(uvhttp_slice_t name)
{
    switch (uvh_field_lookup(name)) {
    case UVHTTP_FIELD_CONNECTION:
    case UVHTTP_FIELD_CONTENT_LENGTH:
    case UVHTTP_FIELD_EXPECT:
    case UVHTTP_FIELD_HOST:
    case UVHTTP_FIELD_SEC_WEBSOCKET_EXTENSIONS:
    case UVHTTP_FIELD_SEC_WEBSOCKET_KEY:
    case UVHTTP_FIELD_SEC_WEBSOCKET_PROTOCOL:
    case UVHTTP_FIELD_SEC_WEBSOCKET_VERSION:
    case UVHTTP_FIELD_TE:
    case UVHTTP_FIELD_TRAILER:
    case UVHTTP_FIELD_TRANSFER_ENCODING:
    case UVHTTP_FIELD_UPGRADE:
        return true;
    default:
        return uvh_field_name_is(name, TEXT("sec-websocket-accept"));
    }
}

/* The next line: 1, 0 at the end, -1 when it must not be sent. */
static int next_field(const char **fields, uvhttp_slice_t *name, uvhttp_slice_t *value)
{
    const char *start = *fields;
    if (*start == '\0')
        return 0;
    const char *end = strstr(start, "\r\n");
    const char *colon = end != NULL ? memchr(start, ':', (size_t)(end - start)) : NULL;
    if (colon == NULL)
        return -1;
    *name = (uvhttp_slice_t){start, (size_t)(colon - start)};
    *value = (uvhttp_slice_t){colon + 1, (size_t)(end - colon - 1)};
    *fields = end + 2;
    return uvh_field_name_valid(*name) && uvh_field_value_valid(*value) && !is_ours(*name) ? 1 : -1;
}

bool uvh_ws_client_handshake_fields_valid(const char *fields)
{
    uvhttp_slice_t name, value;
    int found = 0;
    while (fields != NULL && (found = next_field(&fields, &name, &value)) > 0)
        ;
    return found == 0;
}

size_t uvh_ws_client_handshake_size(const struct uvh_ws_client_handshake *handshake)
{
    /* The writer adds a space after a colon, at most one byte per line. */
    size_t fields = handshake->fields != NULL ? 2 * strlen(handshake->fields) : 0;
    size_t size = FIXED_SIZE + UVH_WS_EXTENSION_MAX + fields + handshake->url->authority.length +
                  handshake->url->target.length;
    for (size_t i = 0; handshake->protocols != NULL && handshake->protocols[i] != NULL; i++)
        size += strlen(handshake->protocols[i]) + 2;
    return size;
}

static void put(uvhttp_writer_t *writer, uvhttp_slice_t text)
{
    uvhttp_writer_bytes(writer, text.base, text.length);
}

/* False when one is no token. */
static bool put_protocols(uvhttp_writer_t *writer, const char *const *protocols)
{
    if (protocols == NULL || protocols[0] == NULL)
        return true;
    for (size_t i = 0; protocols[i] != NULL; i++) {
        uvhttp_slice_t name = text_slice(protocols[i]);
        if (!uvh_field_name_valid(name))
            return false;
        put(writer, i == 0 ? TEXT("Sec-WebSocket-Protocol: ") : TEXT(", "));
        put(writer, name);
    }
    return uvhttp_writer_end(writer);
}

static void put_own_fields(uvhttp_writer_t *writer, const struct uvh_ws_client_handshake *handshake)
{
    const struct uvh_ws_url *url = handshake->url;
    put(writer, TEXT("GET "));
    if (url->target.length == 0 || url->target.base[0] != '/')
        put(writer, TEXT("/"));
    put(writer, url->target);
    put(writer, TEXT(" HTTP/1.1\r\n"));
    uvhttp_writer_field_slice(writer, TEXT("Host"), url->authority);
    uvhttp_writer_field(writer, "Upgrade", "websocket");
    uvhttp_writer_field(writer, "Connection", "Upgrade");
    uvhttp_writer_field_slice(writer, TEXT("Sec-WebSocket-Key"),
                              (uvhttp_slice_t){handshake->key, sizeof(handshake->key)});
    uvhttp_writer_field(writer, "Sec-WebSocket-Version", "13");
}

ptrdiff_t uvh_ws_client_handshake_write(struct uvh_ws_client_handshake *handshake,
                                        const uint8_t nonce[16], char *out, size_t size)
{
    uvhttp_writer_t writer;
    uvhttp_slice_t name, value;
    const char *fields = handshake->fields;
    int found = 0;
    uvh_ws_key_make(nonce, handshake->key);
    uvhttp_writer_init(&writer, out, size);
    put_own_fields(&writer, handshake);
    if (!put_protocols(&writer, handshake->protocols))
        return writer.error == UVHTTP_WRITER_FULL ? UVHTTP_EFULL : UVHTTP_EINVAL;
    if (handshake->deflate != NULL) {
        char offer[UVH_WS_EXTENSION_MAX];
        uvh_ws_extension_offer(handshake->deflate, offer);
        uvhttp_writer_field(&writer, "Sec-WebSocket-Extensions", offer);
    }
    while (fields != NULL && (found = next_field(&fields, &name, &value)) > 0)
        uvhttp_writer_field_slice(&writer, name, value);
    uvhttp_writer_end(&writer);
    if (found < 0 || writer.error == UVHTTP_WRITER_INVALID)
        return UVHTTP_EINVAL;
    return writer.error == UVHTTP_WRITER_OK ? (ptrdiff_t)writer.length : UVHTTP_EFULL;
}

/* ---- response: one function per rule of section 4.1 ---- */

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static bool
refuse(struct uvh_ws_reply *reply, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(reply->reason, sizeof(reply->reason), format, args);
    va_end(args);
    return false;
}

static uvhttp_slice_t value_of(const struct uvh_ws_reply *reply, const uvhttp_field_t *field)
{
    return (uvhttp_slice_t){reply->head.base + field->value_offset, field->value_length};
}

/* The value of a field that may occur once: `base` NULL when absent, false when it is repeated. */
static bool single(struct uvh_ws_reply *reply, const char *name, uvhttp_slice_t *value)
{
    size_t count = 0;
    *value = (uvhttp_slice_t){NULL, 0};
    for (size_t i = 0; i < reply->head.field_count; i++) {
        const uvhttp_field_t *field = &reply->head.fields[i];
        uvhttp_slice_t found = {reply->head.base + field->name_offset, field->name_length};
        if (!uvh_field_name_equal(found, text_slice(name)))
            continue;
        *value = value_of(reply, field);
        count++;
    }
    return count < 2 || refuse(reply, "%s is repeated", name);
}

static bool has_upgrade_option(const struct uvh_ws_reply *reply)
{
    for (size_t i = 0; i < reply->head.field_count; i++) {
        const uvhttp_field_t *field = &reply->head.fields[i];
        if (field->id == UVHTTP_FIELD_CONNECTION &&
            uvh_field_list_has(value_of(reply, field), TEXT("upgrade")))
            return true;
    }
    return false;
}

/* Items 1 to 3. Redirects are not followed: the caller chooses the server. */
static bool check_switch(struct uvh_ws_reply *reply)
{
    uvhttp_slice_t upgrade;
    const uvhttp_head_t *head = &reply->head;
    if (head->status != 101) {
        char text[SHOWN_PHRASE];
        uvhttp_slice_t phrase = {head->base + head->reason_phrase_offset,
                                 head->reason_phrase_length};
        return refuse(reply, "the server responded with %d%s%s", head->status,
                      phrase.length > 0 ? " " : "", uvh_shown(phrase, text, sizeof(text)));
    }
    if (!single(reply, "Upgrade", &upgrade))
        return false;
    if (head->minor_version < 1 || !has_upgrade_option(reply) || upgrade.base == NULL ||
        !uvh_field_name_equal(upgrade, TEXT("websocket")))
        return refuse(reply, "the server did not switch to the protocol \"websocket\"");
    return true;
}

/* Item 4. */
static bool check_accept(struct uvh_ws_reply *reply,
                         const struct uvh_ws_client_handshake *handshake)
{
    char expected[UVH_WS_ACCEPT_SIZE];
    uvhttp_slice_t value;
    if (!single(reply, "Sec-WebSocket-Accept", &value))
        return false;
    uvh_ws_accept_make(handshake->key, expected);
    if (value.length == sizeof(expected) && memcmp(value.base, expected, sizeof(expected)) == 0)
        return true;
    return refuse(reply, "Sec-WebSocket-Accept %s",
                  value.base == NULL ? "is missing" : "does not match the key");
}

/* Item 6. */
static bool check_protocol(struct uvh_ws_reply *reply,
                           const struct uvh_ws_client_handshake *handshake,
                           struct uvh_ws_accepted *accepted)
{
    uvhttp_slice_t value;
    if (!single(reply, "Sec-WebSocket-Protocol", &value))
        return false;
    if (value.base == NULL)
        return !handshake->protocol_required ||
               refuse(reply, "the server supports none of our subprotocols");
    for (size_t i = 0; handshake->protocols != NULL && handshake->protocols[i] != NULL; i++) {
        uvhttp_slice_t ours = text_slice(handshake->protocols[i]);
        if (value.length == ours.length && memcmp(value.base, ours.base, ours.length) == 0) {
            accepted->protocol = handshake->protocols[i];
            return true;
        }
    }
    return refuse(reply, "the server selected a subprotocol that was not offered");
}

/* Item 5. */
static bool check_extensions(struct uvh_ws_reply *reply,
                             const struct uvh_ws_client_handshake *handshake,
                             struct uvh_ws_accepted *accepted)
{
    uvhttp_slice_t value;
    if (!single(reply, "Sec-WebSocket-Extensions", &value))
        return false;
    if (value.base == NULL)
        return true;
    accepted->compressed = handshake->deflate != NULL &&
                           uvh_ws_extension_accept(value, handshake->deflate, &accepted->terms);
    return accepted->compressed ||
           refuse(reply, "Sec-WebSocket-Extensions does not match the offer");
}

/* ---- reading the response ---- */

static void begin_head(struct uvh_ws_reply *reply)
{
    uvhttp_head_init(&reply->head, reply->fields, UVH_WS_REPLY_FIELDS);
    reply->length = 0;
}

void uvh_ws_reply_init(struct uvh_ws_reply *reply)
{
    reply->interim = 0;
    reply->status = 0;
    reply->reason[0] = '\0';
    begin_head(reply);
}

/* Reads up to the end of one head; `*used` counts its bytes. */
static uvhttp_parse_result_t read_head(struct uvh_ws_reply *reply, const char *data, size_t size,
                                       size_t *used)
{
    static const uvhttp_head_limits_t limits = {.max_size = UVH_WS_REPLY_MAX,
                                                .max_target = UVH_WS_REPLY_MAX,
                                                .max_fields = UVH_WS_REPLY_FIELDS};
    uint32_t before = reply->length;
    size_t taken = size < UVH_WS_REPLY_MAX - before ? size : UVH_WS_REPLY_MAX - before;
    if (taken > 0)
        memcpy(reply->bytes + before, data, taken);
    reply->length += (uint32_t)taken;
    uvhttp_parse_result_t result =
        uvhttp_response_head_parse(&reply->head, reply->bytes, reply->length, &limits);
    *used = result == UVHTTP_PARSE_DONE ? reply->head.size - before : taken;
    if (result == UVHTTP_PARSE_BAD)
        refuse(reply, "%s", uvhttp_reason_text((uvhttp_reason_t)reply->head.reason));
    return result;
}

static uvhttp_parse_result_t judge(struct uvh_ws_reply *reply,
                                   const struct uvh_ws_client_handshake *handshake,
                                   struct uvh_ws_accepted *accepted)
{
    *accepted = (struct uvh_ws_accepted){.protocol = ""};
    reply->status = reply->head.status;
    bool fits = check_switch(reply) && check_accept(reply, handshake) &&
                check_protocol(reply, handshake, accepted) &&
                check_extensions(reply, handshake, accepted);
    return fits ? UVHTTP_PARSE_DONE : UVHTTP_PARSE_BAD;
}

uvhttp_parse_result_t uvh_ws_reply_read(struct uvh_ws_reply *reply,
                                        const struct uvh_ws_client_handshake *handshake,
                                        const char *data, size_t size, size_t *used,
                                        struct uvh_ws_accepted *accepted)
{
    *used = 0;
    for (;;) {
        size_t taken;
        uvhttp_parse_result_t result = read_head(reply, data + *used, size - *used, &taken);
        *used += taken;
        if (result != UVHTTP_PARSE_DONE)
            return result;
        if (reply->head.status == 101 || reply->head.status >= 200)
            return judge(reply, handshake, accepted);
        if (++reply->interim > UVH_WS_REPLY_INTERIM) {
            refuse(reply, "the server sent too many interim responses (%d)", reply->head.status);
            return UVHTTP_PARSE_BAD;
        }
        begin_head(reply);
    }
}

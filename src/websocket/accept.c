/* See accept.h. */
#include "websocket/accept.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <uvhttp/error.h>
#include <uvhttp/stream.h>

#include "codec/fields/field.h"
#include "codec/text/shown.h"
#include "codec/websocket/handshake.h"

#define VERSION "13"

enum { SHOWN_SIZE = 52 }; /* bytes shown of a client's value */

/* The values of the handshake fields, read in one pass: lists may have several lines, the others
 * must not. */
struct offer {
    uvhttp_slice_t key, version, origin;           /* the first line */
    size_t key_count, version_count, origin_count; /* lines */
    /* an index, or the result of uvh_ws_protocol_choose */
    int protocol;
    bool protocols_malformed;
    bool extensions_malformed;
};

/* ---- refusing ---- */

#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
static int
refuse(struct uvh_ws_refusal *refusal, int status, const char *format, ...)
{
    va_list args;
    refusal->status = status;
    va_start(args, format);
    vsnprintf(refusal->detail, sizeof(refusal->detail), format, args);
    va_end(args);
    return UVHTTP_EINVAL;
}

static const char *shown(uvhttp_slice_t value, char text[SHOWN_SIZE])
{
    return uvh_shown(value, text, SHOWN_SIZE);
}

/* ---- reading the fields ---- */

static void note(uvhttp_slice_t *first, size_t *count, uvhttp_slice_t value)
{
    if ((*count)++ == 0)
        *first = value;
}

static void read_protocols(struct offer *offer, uvhttp_slice_t value,
                           const struct uvh_ws_accept_rules *rules)
{
    int found = uvh_ws_protocol_choose(value, rules->protocols, offer->protocol);
    if (found < -1)
        offer->protocols_malformed = true;
    else
        offer->protocol = found;
}

static void read_extensions(struct offer *offer, uvhttp_slice_t value,
                            const struct uvh_ws_accept_rules *rules,
                            struct uvh_ws_accepted *accepted)
{
    bool malformed;
    const struct uvh_ws_deflate_preferences *preferences =
        accepted->compressed ? NULL : rules->deflate;
    if (uvh_ws_extension_agree(value, preferences, &accepted->terms, &malformed))
        accepted->compressed = true;
    offer->extensions_malformed = offer->extensions_malformed || malformed;
}

static void read_offer(uvhttp_request_t *request, const struct uvh_ws_accept_rules *rules,
                       struct uvh_ws_accepted *accepted, struct offer *offer)
{
    size_t count = uvhttp_request_header_count(request);
    *offer = (struct offer){.protocol = -1};
    for (size_t i = 0; i < count; i++) {
        uvhttp_slice_t name, value;
        uvhttp_request_header_at(request, i, &name, &value);
        uvhttp_field_id_t id = uvh_field_lookup(name);
        if (id == UVHTTP_FIELD_SEC_WEBSOCKET_KEY)
            note(&offer->key, &offer->key_count, value);
        else if (id == UVHTTP_FIELD_SEC_WEBSOCKET_VERSION)
            note(&offer->version, &offer->version_count, value);
        else if (id == UVHTTP_FIELD_ORIGIN)
            note(&offer->origin, &offer->origin_count, value);
        else if (id == UVHTTP_FIELD_SEC_WEBSOCKET_PROTOCOL)
            read_protocols(offer, value, rules);
        else if (id == UVHTTP_FIELD_SEC_WEBSOCKET_EXTENSIONS)
            read_extensions(offer, value, rules, accepted);
    }
}

/* ---- validation: one function per rule ---- */

static bool is_http2(const uvhttp_request_t *request)
{
    return strcmp(uvhttp_request_protocol(request), "HTTP/2.0") == 0;
}

/* Section 4.2.1 items 1, 3 and 4. The server has checked Host already. */
static int check_upgrade(uvhttp_request_t *request, struct uvh_ws_refusal *refusal)
{
    char text[SHOWN_SIZE];
    const char *method = uvhttp_request_method_name(request);
    bool offered = uvhttp_request_offers_upgrade(request, "websocket");
    /* A HEAD without an offer gets the response of such a GET. */
    bool is_head = uvhttp_request_method(request) == UVHTTP_METHOD_HEAD && !offered;
    if (uvhttp_request_method(request) != UVHTTP_METHOD_GET && !is_head)
        return refuse(refusal, 405, "The method is %s; a WebSocket handshake requires GET.",
                      shown((uvhttp_slice_t){method, strlen(method)}, text));
    if (offered)
        return 0;
    if (uvhttp_request_http_minor(request) < 1)
        return refuse(refusal, 426,
                      "The request is HTTP/1.0; a WebSocket handshake requires HTTP/1.1.");
    if (is_http2(request) && uvhttp_request_header(request, "Upgrade") != NULL)
        return refuse(refusal, 501, "This is a WebSocket endpoint; :protocol must be websocket.");
    return refuse(
        refusal, 426,
        "This is a WebSocket endpoint: send \"Connection: Upgrade\" and \"Upgrade: websocket\".");
}

/* Item 6. Before the key, since clients of other versions may have other keys, or none. */
static int check_version(const struct offer *offer, struct uvh_ws_refusal *refusal)
{
    char text[SHOWN_SIZE];
    if (offer->version_count == 0)
        return refuse(refusal, 426,
                      "Sec-WebSocket-Version is missing; this server supports " VERSION ".");
    if (offer->version_count > 1)
        return refuse(refusal, 426,
                      "Sec-WebSocket-Version is repeated; this server supports " VERSION ".");
    if (offer->version.length == strlen(VERSION) &&
        memcmp(offer->version.base, VERSION, strlen(VERSION)) == 0)
        return 0;
    return refuse(refusal, 426,
                  "Sec-WebSocket-Version is \"%s\"; this server supports " VERSION ".",
                  shown(offer->version, text));
}

/* Item 5. */
static int check_key(const struct offer *offer, struct uvh_ws_refusal *refusal)
{
    char text[SHOWN_SIZE];
    if (offer->key_count != 1)
        return refuse(refusal, 400, "Sec-WebSocket-Key is %s; exactly one is required.",
                      offer->key_count == 0 ? "missing" : "repeated");
    if (uvh_ws_key_valid(offer->key))
        return 0;
    return refuse(refusal, 400, "Sec-WebSocket-Key is \"%s\"; it must be 16 bytes in base64.",
                  shown(offer->key, text));
}

/* Item 7 and section 10.2. The check protects users of browsers, which send a true origin; other
 * clients can send any value. */
static int check_origin(const struct offer *offer, const struct uvh_ws_accept_rules *rules,
                        struct uvh_ws_refusal *refusal)
{
    char text[SHOWN_SIZE];
    if (rules->origins == NULL || offer->origin_count == 0)
        return 0;
    if (offer->origin_count > 1)
        return refuse(refusal, 403, "Origin is repeated; only one is allowed.");
    if (!uvh_ws_origin_valid(offer->origin))
        return refuse(refusal, 403, "Origin is \"%s\"; it must be scheme://host[:port] or null.",
                      shown(offer->origin, text));
    for (size_t i = 0; rules->origins[i] != NULL; i++) {
        if (uvh_ws_origin_equal((uvhttp_slice_t){rules->origins[i], strlen(rules->origins[i])},
                                offer->origin))
            return 0;
    }
    return refuse(refusal, 403, "Origin is \"%s\", which is not allowed; the server must list it.",
                  shown(offer->origin, text));
}

/* Lists the supported protocols, as far as they fit. */
static void list_protocols(const char *const *protocols, char *text, size_t size)
{
    size_t length = 0;
    text[0] = '\0';
    for (size_t i = 0; protocols[i] != NULL; i++) {
        size_t needed = strlen(protocols[i]) + 2;
        if (needed > size - length - sizeof(", ..."))
            break;
        length +=
            (size_t)snprintf(text + length, size - length, "%s%s", i > 0 ? ", " : "", protocols[i]);
        if (protocols[i + 1] == NULL)
            return;
    }
    snprintf(text + length, size - length, "%s...", length > 0 ? ", " : "");
}

/* Item 8. */
static int check_protocol(const struct offer *offer, const struct uvh_ws_accept_rules *rules,
                          struct uvh_ws_accepted *accepted, struct uvh_ws_refusal *refusal)
{
    char text[UVH_WS_REFUSAL_SIZE / 2];
    if (offer->protocols_malformed)
        return refuse(refusal, 400,
                      "Sec-WebSocket-Protocol is malformed; it must be a list of tokens.");
    if (offer->protocol >= 0) {
        accepted->protocol = rules->protocols[offer->protocol];
        return 0;
    }
    if (!rules->protocol_required || rules->protocols == NULL)
        return 0;
    list_protocols(rules->protocols, text, sizeof(text));
    return refuse(refusal, 400, "Sec-WebSocket-Protocol has none of the supported protocols: %s.",
                  text);
}

/* Item 9. Ignores well-formed unknown extensions. */
static int check_extensions(const struct offer *offer, struct uvh_ws_refusal *refusal)
{
    if (!offer->extensions_malformed)
        return 0;
    return refuse(refusal, 400,
                  "Sec-WebSocket-Extensions is malformed; it must be a list like "
                  "\"permessage-deflate; client_max_window_bits\".");
}

int uvh_ws_accept_check(uvhttp_request_t *request, const struct uvh_ws_accept_rules *rules,
                        struct uvh_ws_accepted *accepted, struct uvh_ws_refusal *refusal)
{
    struct offer offer;
    *accepted = (struct uvh_ws_accepted){.protocol = ""};
    int err = check_upgrade(request, refusal);
    if (err != 0)
        return err;
    read_offer(request, rules, accepted, &offer);
    err = check_version(&offer, refusal);
    if (err == 0 && !is_http2(request)) /* RFC 8441 section 5 */
        err = check_key(&offer, refusal);
    if (err == 0)
        err = check_origin(&offer, rules, refusal);
    if (err == 0)
        err = check_protocol(&offer, rules, accepted, refusal);
    return err == 0 ? check_extensions(&offer, refusal) : err;
}

/* ---- response ---- */

static int set_or_remove(int err, uvhttp_response_t *response, const char *name, const char *value)
{
    if (err != 0)
        return err;
    if (value[0] != '\0')
        return uvhttp_response_set_header(response, name, value);
    uvhttp_response_remove_header(response, name);
    return 0;
}

int uvh_ws_accept_fields(uvhttp_response_t *response, const struct uvh_ws_accepted *accepted)
{
    char extensions[UVH_WS_EXTENSION_MAX] = "";
    char accept[UVH_WS_ACCEPT_SIZE + 1] = "";
    uvhttp_request_t *request = uvhttp_response_request(response);
    uvhttp_slice_t key = uvhttp_request_field(request, UVHTTP_FIELD_SEC_WEBSOCKET_KEY);
    if (!is_http2(request) && key.length != UVH_WS_KEY_SIZE)
        return UVHTTP_EINVAL;
    if (!is_http2(request))
        uvh_ws_accept_make(key.base, accept);
    if (accepted->compressed)
        uvh_ws_extension_response(&accepted->terms, extensions);
    int err = set_or_remove(0, response, "Sec-WebSocket-Accept", accept);
    err = set_or_remove(err, response, "Sec-WebSocket-Protocol", accepted->protocol);
    return set_or_remove(err, response, "Sec-WebSocket-Extensions", extensions);
}

void uvh_ws_accept_take_back(uvhttp_response_t *response)
{
    uvhttp_response_remove_header(response, "Sec-WebSocket-Accept");
    uvhttp_response_remove_header(response, "Sec-WebSocket-Protocol");
    uvhttp_response_remove_header(response, "Sec-WebSocket-Extensions");
}

int uvh_ws_accept_refuse(uvhttp_response_t *response, const struct uvh_ws_refusal *refusal)
{
    int err = 0;
    if (refusal->status == 405)
        err = uvhttp_response_set_header(response, "Allow", "GET");
    if (refusal->status == 426) {
        err = uvhttp_response_set_header(response, "Upgrade", "websocket");
        if (err == 0) /* section 4.4 */
            err = uvhttp_response_set_header(response, "Sec-WebSocket-Version", VERSION);
    }
    return err != 0 ? err
                    : uvhttp_response_send_error(response, refusal->status, "%s", refusal->detail);
}

/* ---- rules ---- */

/* A token not earlier in the list: the tokens a client offers must be unique (section 4.1). */
static bool is_new_token(const char *const *list, size_t at)
{
    if (!uvh_field_name_valid((uvhttp_slice_t){list[at], strlen(list[at])}))
        return false;
    for (size_t i = 0; i < at; i++) {
        if (strcmp(list[i], list[at]) == 0)
            return false;
    }
    return true;
}

int uvh_ws_accept_check_rules(const struct uvh_ws_accept_rules *rules, uvhttp_error_t *error)
{
    const char *const none[] = {NULL};
    const char *const *protocols = rules->protocols != NULL ? rules->protocols : none;
    const char *const *origins = rules->origins != NULL ? rules->origins : none;
    if (rules->protocol_required && protocols[0] == NULL)
        return uvh_error_string(error, "protocols", "", "protocol_required requires at least one");
    for (size_t i = 0; protocols[i] != NULL; i++) {
        if (!is_new_token(protocols, i))
            return uvh_error_string(error, "protocols", protocols[i],
                                    "allowed are names of letters, digits and "
                                    "!#$%&'*+-.^_`|~, one per string, without duplicates");
    }
    for (size_t i = 0; origins[i] != NULL; i++) {
        /* The syntax permits "*" in a host name, but no browser sends it. */
        if (strchr(origins[i], '*') != NULL ||
            !uvh_ws_origin_valid((uvhttp_slice_t){origins[i], strlen(origins[i])}))
            return uvh_error_string(
                error, "origins", origins[i],
                "allowed are scheme://host[:port] without '*' and trailing slash, and \"null\"; to "
                "allow any origin set the list to NULL");
    }
    return 0;
}

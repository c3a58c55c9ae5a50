/* Body length and connection of a request head (RFC 9112 sections 3, 6 and 9): one function per
 * rule, with its section.
 *
 * Guarantees that a request has one unambiguous length or is rejected: everything that two
 * implementations could interpret differently (request smuggling) is an error. Also part of the
 * parser library. */
#include <uvhttp/parser.h>

#include <string.h>

#include "base/compiler.h"
#include "codec/fields/authority.h"
#include "codec/fields/field.h"
#include "codec/simd/scan_swar.h"
#include "codec/text/chars.h"

#define TEXT(literal) ((uvhttp_slice_t){(literal), sizeof(literal) - 1})

static uvhttp_slice_t value_of(const uvhttp_head_t *head, const uvhttp_field_t *field)
{
    return (uvhttp_slice_t){head->base + field->value_offset, field->value_length};
}

/* The next field with the id of `field`, or NULL. */
static const uvhttp_field_t *next_same(const uvhttp_head_t *head, const uvhttp_field_t *field)
{
    if (field == uvh_head_first(head, (uvhttp_field_id_t)field->id) && !field->repeated)
        return NULL;
    const uvhttp_field_t *end = head->fields + head->field_count;
    for (const uvhttp_field_t *next = field + 1; next < end; next++) {
        if (next->id == field->id)
            return next;
    }
    return NULL;
}

/* Splits [p, end) into path and query at the first '?' (RFC 3986 section 3.4), which the head
 * parser has found. */
static void split_query(const uvhttp_head_t *head, uvhttp_framing_t *framing, const char *p,
                        const char *end)
{
    if (head->query_offset == 0) {
        framing->path = (uvhttp_slice_t){p, (size_t)(end - p)};
        return;
    }
    const char *query = head->base + head->query_offset;
    framing->path = (uvhttp_slice_t){p, (size_t)(query - 1 - p)};
    framing->query = (uvhttp_slice_t){query, (size_t)(end - query)};
}

/* RFC 9112 section 3.2.2: a request to a proxy, which a server must accept too. Its authority
 * overrides the Host field. User information (RFC 9110 section 4.2.4) and an empty host (section
 * 4.2.1) are rejected. */
static uvhttp_reason_t absolute_form(const uvhttp_head_t *head, uvhttp_slice_t target,
                                     uvhttp_framing_t *framing)
{
    static const uvhttp_slice_t schemes[] = {{"http://", 7}, {"https://", 8}};
    const char *end = target.base + target.length;
    const char *p = NULL;
    for (size_t i = 0; i < 2 && p == NULL; i++) {
        uvhttp_slice_t start = {target.base, schemes[i].length};
        if (target.length > start.length && uvh_field_name_is(start, schemes[i]))
            p = target.base + start.length;
    }
    if (p == NULL)
        return UVHTTP_REASON_TARGET_FORM;
    const char *authority = p;
    while (p < end && *p != '/' && *p != '?')
        p++;
    uvhttp_slice_t host, port;
    framing->target_form = UVHTTP_TARGET_ABSOLUTE;
    framing->authority = (uvhttp_slice_t){authority, (size_t)(p - authority)};
    if (!uvh_authority_split(framing->authority, &host, &port))
        return UVHTTP_REASON_TARGET_FORM;
    split_query(head, framing, p, end);
    if (framing->path.length == 0)
        framing->path = TEXT("/"); /* RFC 9110 section 4.2.3: the same resource */
    return UVHTTP_REASON_NONE;
}

/* RFC 9112 section 3.2.3, RFC 9110 section 9.3.6: host and port, for CONNECT only, and the port is
 * required. */
static uvhttp_reason_t authority_form(uvhttp_slice_t target, uvhttp_framing_t *framing)
{
    uvhttp_slice_t host, port;
    if (!uvh_authority_split(target, &host, &port) || port.length == 0)
        return UVHTTP_REASON_TARGET_FORM;
    framing->target_form = UVHTTP_TARGET_AUTHORITY;
    framing->authority = target;
    framing->path = TEXT("");
    return UVHTTP_REASON_NONE;
}

/* RFC 9112 section 3.2: selects one of the four forms. `framing->authority` already has the Host
 * field's value. */
static uvhttp_reason_t target_rule(const uvhttp_head_t *head, uvhttp_framing_t *framing)
{
    uvhttp_slice_t target = {head->base + head->target_offset, head->target_length};
    if (head->method == UVHTTP_METHOD_CONNECT)
        return authority_form(target, framing);
    if (target.base[0] == '/') { /* section 3.2.1 */
        framing->target_form = UVHTTP_TARGET_ORIGIN;
        split_query(head, framing, target.base, target.base + target.length);
        return UVHTTP_REASON_NONE;
    }
    if (target.length == 1 && target.base[0] == '*') { /* section 3.2.4 */
        framing->target_form = UVHTTP_TARGET_ASTERISK;
        framing->path = target;
        return head->method == UVHTTP_METHOD_OPTIONS ? UVHTTP_REASON_NONE
                                                     : UVHTTP_REASON_TARGET_FORM;
    }
    return absolute_form(head, target, framing);
}

/* An empty Host field, or a registered name with or without a port: the head parser has counted the
 * bytes of the name. */
static inline bool is_name(const uvhttp_head_t *head, const uvhttp_field_t *host)
{
    const char *value = head->base + host->value_offset;
    size_t name = head->host_name_length;
    return host->value_length == name ||
           (name > 0 && name < host->value_length && value[name] == ':' &&
            uvh_authority_ends_with_port(value + name + 1, value + host->value_length));
}

/* RFC 9112 section 3.2: exactly one Host field in HTTP/1.1, at most one in HTTP/1.0, host[:port] or
 * empty. */
static uvhttp_reason_t host_rule(const uvhttp_head_t *head, uvhttp_framing_t *framing)
{
    const uvhttp_field_t *field = uvh_head_first(head, UVHTTP_FIELD_HOST);
    if (field == NULL)
        return head->minor_version == 0 ? UVHTTP_REASON_NONE : UVHTTP_REASON_HOST_MISSING;
    if (field->repeated)
        return UVHTTP_REASON_HOST_REPEATED;
    uvhttp_slice_t host, port;
    framing->authority = value_of(head, field);
    bool valid = is_name(head, field) || uvh_authority_split(framing->authority, &host, &port);
    return valid ? UVHTTP_REASON_NONE : UVHTTP_REASON_HOST_INVALID;
}

/* 1*DIGIT at `*p` (RFC 9110 section 8.6); false if there is none or it exceeds 64 bits. */
static bool take_number(const char **p, const char *end, uint64_t *number)
{
    const char *start = *p;
    uint64_t value = 0;
    const char *at = start;
    for (; at < end && uvh_chars_is(*at, UVH_CHAR_DIGIT); at++) {
        uint64_t digit = (uint64_t)(*at - '0');
        if (value > (UINT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *p = at;
    *number = value;
    return at > start;
}

static const char *skip_space(const char *p, const char *end)
{
    while (p < end && uvh_chars_is(*p, UVH_CHAR_SPACE))
        p++;
    return p;
}

/* One Content-Length line: a number, or a list of the same number repeated. `*known`: it must equal
 * an earlier number. */
static uvhttp_reason_t length_value(uvhttp_slice_t value, bool *known, uint64_t *length)
{
    const char *p = value.base;
    const char *end = p + value.length;
    for (;;) {
        uint64_t number;
        if (!take_number(&p, end, &number))
            return UVHTTP_REASON_LENGTH_INVALID;
        if (*known && number != *length)
            return UVHTTP_REASON_LENGTH_CONFLICT;
        *known = true;
        *length = number;
        p = skip_space(p, end);
        if (p == end)
            return UVHTTP_REASON_NONE;
        if (*p != ',')
            return UVHTTP_REASON_LENGTH_INVALID;
        p = skip_space(p + 1, end);
    }
}

/* The number of a single short Content-Length; false for anything else. */
static inline bool is_short_length(const uvhttp_head_t *head, const uvhttp_field_t *field,
                                   uint64_t *number)
{
    const char *end = head->base + field->value_offset + field->value_length;
    return !field->repeated && field->value_length - 1 < 8 &&
           uvh_swar_number(end, field->value_length, number);
}

/* RFC 9112 section 6.3, number 5: one decimal number. Several are accepted if all are equal, as the
 * section allows. */
static UVH_NEVER_INLINE uvhttp_reason_t length_rule(const uvhttp_head_t *head,
                                                    const uvhttp_field_t *field,
                                                    uvhttp_framing_t *framing)
{
    bool known = false;
    framing->body = UVHTTP_BODY_LENGTH;
    for (; field != NULL; field = next_same(head, field)) {
        uvhttp_reason_t reason =
            length_value(value_of(head, field), &known, &framing->content_length);
        if (reason != UVHTTP_REASON_NONE)
            return reason;
    }
    return UVHTTP_REASON_NONE;
}

/* The body of a head with Content-Length: nearly always a short number. */
static UVH_NEVER_INLINE uvhttp_reason_t usual_length(const uvhttp_head_t *head,
                                                     uvhttp_framing_t *framing)
{
    const uvhttp_field_t *length = &head->fields[head->first[UVHTTP_FIELD_CONTENT_LENGTH]];
    framing->body = UVHTTP_BODY_LENGTH;
    return is_short_length(head, length, &framing->content_length)
               ? UVHTTP_REASON_NONE
               : length_rule(head, length, framing);
}

/* The end of the quoted string at `p` (RFC 9110 section 5.6.4), NULL if it is malformed. */
static const char *skip_quoted(const char *p, const char *end)
{
    for (p++; p < end && *p != '"'; p++) {
        if (*p == '\\' && p + 1 < end)
            p++;
        else if (!uvh_chars_is(*p, UVH_CHAR_QDTEXT))
            return NULL;
    }
    return p < end ? p + 1 : NULL;
}

/* The end of the token at `p`, NULL if there is none. */
static const char *skip_token(const char *p, const char *end)
{
    const char *start = p;
    while (p < end && uvh_chars_is(*p, UVH_CHAR_TOKEN))
        p++;
    return p > start ? p : NULL;
}

/* The end of *( OWS ";" OWS name BWS "=" BWS value ) and the white space after it, NULL if
 * malformed (RFC 9112 section 7). */
static const char *skip_parameters(const char *p, const char *end)
{
    for (p = skip_space(p, end); p < end && *p == ';'; p = skip_space(p, end)) {
        p = skip_token(skip_space(p + 1, end), end);
        if (p == NULL)
            return NULL;
        p = skip_space(p, end);
        if (p == end || *p != '=')
            return NULL;
        p = skip_space(p + 1, end);
        p = p < end && *p == '"' ? skip_quoted(p, end) : skip_token(p, end);
        if (p == NULL)
            return NULL;
    }
    return p;
}

/* All Transfer-Encoding lines combined. */
struct codings {
    bool chunked; /* chunked was among them */
    bool last;    /* chunked is the last one so far */
    bool unknown;
};

/* One line of transfer codings. Empty elements, which a sender must not generate, are rejected
 * here: a list that determines the end of a message must not be repaired. "chunked" has no
 * parameters (RFC 9112 section 7.1). */
static uvhttp_reason_t coding_value(uvhttp_slice_t value, struct codings *codings, bool is_response)
{
    const char *p = value.base;
    const char *end = p + value.length;
    for (;;) {
        const char *start = p;
        p = skip_token(p, end);
        if (p == NULL)
            return UVHTTP_REASON_CODING_INVALID;
        bool chunked =
            uvh_field_name_is((uvhttp_slice_t){start, (size_t)(p - start)}, TEXT("chunked"));
        if (codings->chunked && (chunked || !is_response))
            return UVHTTP_REASON_CODING_NOT_FINAL;
        codings->chunked |= chunked;
        codings->last = chunked;
        codings->unknown |= !chunked;
        const char *name_end = p;
        p = skip_parameters(p, end);
        if (p == NULL || (chunked && skip_space(name_end, end) != p))
            return UVHTTP_REASON_CODING_INVALID;
        if (p == end)
            return UVHTTP_REASON_NONE;
        if (*p != ',')
            return UVHTTP_REASON_CODING_INVALID;
        p = skip_space(p + 1, end);
    }
}

/* RFC 9112 section 6.1: only in HTTP/1.1, and never with Content-Length. `field` is the first line;
 * `codings` is zeroed. */
static uvhttp_reason_t read_codings(const uvhttp_head_t *head, const uvhttp_field_t *field,
                                    bool is_response, struct codings *codings)
{
    if (head->minor_version == 0)
        return UVHTTP_REASON_CODING_OLD_VERSION;
    if (uvh_head_first(head, UVHTTP_FIELD_CONTENT_LENGTH) != NULL)
        return UVHTTP_REASON_LENGTH_WITH_CODING;
    for (; field != NULL; field = next_same(head, field)) {
        uvhttp_reason_t reason = coding_value(value_of(head, field), codings, is_response);
        if (reason != UVHTTP_REASON_NONE)
            return reason;
    }
    return UVHTTP_REASON_NONE;
}

/* RFC 9112 section 6.3, numbers 3 and 4: in a request, chunked once and last. */
static uvhttp_reason_t coding_rule(const uvhttp_head_t *head, const uvhttp_field_t *field,
                                   uvhttp_framing_t *framing)
{
    struct codings codings = {0};
    uvhttp_reason_t reason = read_codings(head, field, false, &codings);
    if (reason != UVHTTP_REASON_NONE)
        return reason;
    if (!codings.last)
        return UVHTTP_REASON_CODING_NOT_FINAL;
    framing->body = UVHTTP_BODY_CHUNKED;
    return codings.unknown ? UVHTTP_REASON_CODING_UNKNOWN : UVHTTP_REASON_NONE;
}

/* RFC 9112 section 6.3: Transfer-Encoding, else Content-Length, else a request has no body. */
static uvhttp_reason_t body_rule(const uvhttp_head_t *head, uvhttp_framing_t *framing)
{
    const uvhttp_field_t *coding = uvh_head_first(head, UVHTTP_FIELD_TRANSFER_ENCODING);
    const uvhttp_field_t *length = uvh_head_first(head, UVHTTP_FIELD_CONTENT_LENGTH);
    if (coding != NULL)
        return coding_rule(head, coding, framing);
    if (length != NULL)
        return length_rule(head, length, framing);
    framing->body = UVHTTP_BODY_NONE;
    return UVHTTP_REASON_NONE;
}

/* All Connection lines combined. */
struct connection_options {
    bool keep_alive;
    bool upgrade;
};

/* RFC 9112 section 9.3: keep-alive unless "close"; in HTTP/1.0 only with "keep-alive". */
static UVH_NEVER_INLINE struct connection_options connection_options(const uvhttp_head_t *head)
{
    bool close = false;
    bool keep_alive = head->minor_version != 0;
    bool upgrade = false;
    const uvhttp_field_t *field = uvh_head_first(head, UVHTTP_FIELD_CONNECTION);
    for (; field != NULL; field = next_same(head, field)) {
        uvhttp_slice_t rest = value_of(head, field);
        uvhttp_slice_t option;
        while (uvh_field_list_next(&rest, &option)) {
            close |= uvh_field_name_is(option, TEXT("close"));
            keep_alive |= uvh_field_name_is(option, TEXT("keep-alive"));
            upgrade |= uvh_field_name_is(option, TEXT("upgrade"));
        }
    }
    return (struct connection_options){keep_alive && !close, upgrade};
}

/* RFC 9110 section 7.8: Upgrade counts only if Connection lists it, and never in HTTP/1.0. */
static void connection_rule(const uvhttp_head_t *head, uvhttp_framing_t *framing)
{
    struct connection_options options = connection_options(head);
    framing->keep_alive = options.keep_alive;
    framing->upgrade = options.upgrade && head->minor_version != 0 &&
                       uvh_head_first(head, UVHTTP_FIELD_UPGRADE) != NULL;
}

/* RFC 9110 section 10.1.1: 100-continue is the only expectation; HTTP/1.0 has none. Without a body
 * it is ignored. */
static uvhttp_reason_t expect_rule(const uvhttp_head_t *head, uvhttp_framing_t *framing)
{
    framing->expect_continue = false;
    const uvhttp_field_t *field = uvh_head_first(head, UVHTTP_FIELD_EXPECT);
    if (field == NULL || head->minor_version == 0)
        return UVHTTP_REASON_NONE;
    bool has_body = framing->body == UVHTTP_BODY_CHUNKED || framing->content_length > 0;
    for (; field != NULL; field = next_same(head, field)) {
        uvhttp_slice_t rest = value_of(head, field);
        uvhttp_slice_t expectation;
        while (uvh_field_list_next(&rest, &expectation)) {
            if (!uvh_field_name_is(expectation, TEXT("100-continue")))
                return UVHTTP_REASON_EXPECT_UNKNOWN;
            framing->expect_continue = has_body;
        }
    }
    return UVHTTP_REASON_NONE;
}

/* All rules, for any request. */
static UVH_NEVER_INLINE uvhttp_reason_t apply_rules(const uvhttp_head_t *head,
                                                    uvhttp_framing_t *framing)
{
    framing->content_length = 0;
    framing->authority = (uvhttp_slice_t){NULL, 0};
    framing->query = (uvhttp_slice_t){NULL, 0};
    uvhttp_reason_t reason = host_rule(head, framing);
    if (reason == UVHTTP_REASON_NONE)
        reason = target_rule(head, framing);
    if (reason == UVHTTP_REASON_NONE)
        reason = body_rule(head, framing);
    if (reason == UVHTTP_REASON_NONE)
        reason = expect_rule(head, framing);
    if (reason == UVHTTP_REASON_NONE)
        connection_rule(head, framing);
    return reason;
}

/* "keep-alive", as most clients send it. */
static inline bool is_plain_keep_alive(const uvhttp_head_t *head, const uvhttp_field_t *connection)
{
    static const char keep_alive[10] = {'k', 'e', 'e', 'p', '-', 'a', 'l', 'i', 'v', 'e'};
    return !connection->repeated && connection->value_length == sizeof keep_alive &&
           memcmp(head->base + connection->value_offset, keep_alive, sizeof keep_alive) == 0;
}

/* The Host field of a usual HTTP/1.1 request: a path, one host name, and no Transfer-Encoding,
 * Expect or Connection, except a plain "keep-alive". NULL for any other request. */
static inline const uvhttp_field_t *usual_host(const uvhttp_head_t *head)
{
    const uint64_t decisive =
        UVH_FIELD_BIT(HOST) | UVH_FIELD_BIT(TRANSFER_ENCODING) | UVH_FIELD_BIT(EXPECT);
    if ((head->present & decisive) != UVH_FIELD_BIT(HOST))
        return NULL;
    const uvhttp_field_t *host = &head->fields[head->first[UVHTTP_FIELD_HOST]];
    bool usual = head->minor_version != 0 && head->method != UVHTTP_METHOD_CONNECT &&
                 head->base[head->target_offset] == '/' && !host->repeated && is_name(head, host) &&
                 (!uvh_head_has(head, UVHTTP_FIELD_CONNECTION) ||
                  is_plain_keep_alive(head, &head->fields[head->first[UVHTTP_FIELD_CONNECTION]]));
    return usual ? host : NULL;
}

uvhttp_reason_t uvhttp_request_framing(const uvhttp_head_t *head, uvhttp_framing_t *framing)
{
    if (UVH_UNLIKELY(head == NULL || framing == NULL))
        return head == NULL ? UVHTTP_REASON_ARGUMENT
                            : uvhttp_request_framing(head, &(uvhttp_framing_t){0});
    const uvhttp_field_t *host = usual_host(head);
    if (host == NULL)
        return apply_rules(head, framing);
    *framing = (uvhttp_framing_t){
        .body = UVHTTP_BODY_NONE,
        .keep_alive = true,
        .target_form = UVHTTP_TARGET_ORIGIN,
        .authority = value_of(head, host),
    };
    split_query(head, framing, head->base + head->target_offset,
                head->base + head->target_offset + head->target_length);
    return uvh_head_has(head, UVHTTP_FIELD_CONTENT_LENGTH) ? usual_length(head, framing)
                                                           : UVHTTP_REASON_NONE;
}

/* RFC 9112 section 6.3, numbers 1 and 2: responses that never have a body. */
static bool is_bodiless(const uvhttp_head_t *head, uvhttp_method_t request_method)
{
    return request_method == UVHTTP_METHOD_HEAD || (head->status >= 100 && head->status < 200) ||
           head->status == 204 || head->status == 304 ||
           (request_method == UVHTTP_METHOD_CONNECT && head->status >= 200 && head->status < 300);
}

/* RFC 9112 section 6.3 for responses, numbers 3 to 8. Unlike in a request, the body extends to the
 * end of the connection if the last coding is not chunked, or without both fields. */
static uvhttp_reason_t response_body_rule(const uvhttp_head_t *head, uvhttp_framing_t *framing)
{
    const uvhttp_field_t *coding = uvh_head_first(head, UVHTTP_FIELD_TRANSFER_ENCODING);
    const uvhttp_field_t *length = uvh_head_first(head, UVHTTP_FIELD_CONTENT_LENGTH);
    if (coding == NULL && length != NULL)
        return length_rule(head, length, framing);
    struct codings codings = {0};
    uvhttp_reason_t reason =
        coding == NULL ? UVHTTP_REASON_NONE : read_codings(head, coding, true, &codings);
    framing->body = codings.last ? UVHTTP_BODY_CHUNKED : UVHTTP_BODY_UNTIL_CLOSE;
    if (framing->body == UVHTTP_BODY_UNTIL_CLOSE)
        framing->keep_alive = false;
    return reason;
}

/* All rules, for any response. `framing` initially has no body and a persistent connection. */
static UVH_NEVER_INLINE uvhttp_reason_t apply_response_rules(const uvhttp_head_t *head,
                                                             uvhttp_method_t request_method,
                                                             uvhttp_framing_t *framing)
{
    framing->upgrade = head->status == 101;
    framing->keep_alive = connection_options(head).keep_alive;
    return is_bodiless(head, request_method) ? UVHTTP_REASON_NONE
                                             : response_body_rule(head, framing);
}

uvhttp_reason_t uvhttp_response_framing(const uvhttp_head_t *head, uvhttp_method_t request_method,
                                        uvhttp_framing_t *framing)
{
    if (UVH_UNLIKELY(head == NULL || framing == NULL))
        return head == NULL ? UVHTTP_REASON_ARGUMENT
                            : uvhttp_response_framing(head, request_method, &(uvhttp_framing_t){0});
    const uint64_t decisive = UVH_FIELD_BIT(CONTENT_LENGTH) | UVH_FIELD_BIT(TRANSFER_ENCODING) |
                              UVH_FIELD_BIT(CONNECTION);
    *framing = (uvhttp_framing_t){.body = UVHTTP_BODY_NONE, .keep_alive = true};
    if ((head->present & decisive) != UVH_FIELD_BIT(CONTENT_LENGTH) || head->minor_version == 0 ||
        head->status < 200 || is_bodiless(head, request_method))
        return apply_response_rules(head, request_method, framing);
    return usual_length(head, framing);
}

/* See extension.h. RFC 6455 uses the grammar of RFC 2616: unlike in the lists of RFC 9110 that
 * codec/fields/parameter.c reads, white space is allowed between any two tokens, and parameters may
 * have no value. */
#include "codec/websocket/extension.h"

#include <string.h>

#include "base/slice.h"
#include "codec/fields/field.h"
#include "codec/text/chars.h"

enum { MIN_BITS = 8, MAX_BITS = 15, MAX_DIGITS = 2 };

struct cursor {
    const char *at;
    const char *end;
};

struct parameter {
    uvhttp_slice_t name;
    bool has_value;
    size_t length;          /* of the value, without quotes and backslashes */
    char value[MAX_DIGITS]; /* its first bytes: longer values are not valid for us */
};

/* The parameters of one element. Bits 0: missing. */
struct element {
    bool deflate; /* it is permessage-deflate */
    bool sound;   /* its parameters are known, unique and in range */
    bool server_no_context_takeover;
    bool client_no_context_takeover;
    bool client_bits; /* client_max_window_bits is present, possibly without a value */
    uint8_t server_max_window_bits;
    uint8_t client_max_window_bits;
};

/* ---- reading ---- */

static void skip_space(struct cursor *cursor)
{
    while (cursor->at < cursor->end && uvh_chars_is(*cursor->at, UVH_CHAR_SPACE))
        cursor->at++;
}

/* True if the next byte is `c`; skips it and the white space around it. */
static bool take(struct cursor *cursor, char c)
{
    skip_space(cursor);
    if (cursor->at == cursor->end || *cursor->at != c)
        return false;
    cursor->at++;
    skip_space(cursor);
    return true;
}

static bool take_token(struct cursor *cursor, uvhttp_slice_t *token)
{
    const char *start = cursor->at;
    while (cursor->at < cursor->end && uvh_chars_is(*cursor->at, UVH_CHAR_TOKEN))
        cursor->at++;
    *token = (uvhttp_slice_t){start, (size_t)(cursor->at - start)};
    return token->length > 0;
}

static void put(struct parameter *parameter, char c)
{
    if (parameter->length < MAX_DIGITS)
        parameter->value[parameter->length] = c;
    parameter->length++;
}

/* The content of the quotes must be a token, too (RFC 6455 section 9.1). The opening quote has been
 * read. */
static bool take_quoted(struct cursor *cursor, struct parameter *parameter)
{
    while (cursor->at < cursor->end && *cursor->at != '"') {
        if (*cursor->at == '\\' && ++cursor->at == cursor->end)
            return false;
        if (!uvh_chars_is(*cursor->at, UVH_CHAR_TOKEN))
            return false;
        put(parameter, *cursor->at++);
    }
    return cursor->at++ < cursor->end && parameter->length > 0;
}

static bool take_parameter(struct cursor *cursor, struct parameter *parameter)
{
    uvhttp_slice_t token;
    *parameter = (struct parameter){0};
    if (!take_token(cursor, &parameter->name))
        return false;
    parameter->has_value = take(cursor, '=');
    if (!parameter->has_value)
        return true;
    if (cursor->at < cursor->end && *cursor->at == '"') {
        cursor->at++;
        return take_quoted(cursor, parameter);
    }
    if (!take_token(cursor, &token))
        return false;
    for (size_t i = 0; i < token.length; i++)
        put(parameter, token.base[i]);
    return true;
}

/* 8 to 15, in decimal without leading zeros (RFC 7692 section 7.1.2); 0 for anything else. */
static uint8_t read_bits(const struct parameter *parameter)
{
    const char *digits = parameter->value;
    if (parameter->length == 1 && digits[0] >= '8' && digits[0] <= '9')
        return (uint8_t)(digits[0] - '0');
    if (parameter->length == 2 && digits[0] == '1' && digits[1] >= '0' && digits[1] <= '5')
        return (uint8_t)(10 + digits[1] - '0');
    return 0;
}

/* False for a flag that has a value or is repeated. */
static bool set_flag(bool *flag, const struct parameter *parameter)
{
    bool first = !*flag;
    *flag = true;
    return first && !parameter->has_value;
}

/* False for a parameter that is unknown, repeated or out of range. */
static bool apply(struct element *element, const struct parameter *parameter)
{
    uvhttp_slice_t name = parameter->name;
    if (uvh_field_name_equal(name, UVH_SLICE("server_no_context_takeover")))
        return set_flag(&element->server_no_context_takeover, parameter);
    if (uvh_field_name_equal(name, UVH_SLICE("client_no_context_takeover")))
        return set_flag(&element->client_no_context_takeover, parameter);
    if (uvh_field_name_equal(name, UVH_SLICE("server_max_window_bits"))) {
        bool first = element->server_max_window_bits == 0;
        element->server_max_window_bits = read_bits(parameter);
        return first && element->server_max_window_bits != 0;
    }
    if (!uvh_field_name_equal(name, UVH_SLICE("client_max_window_bits")) || element->client_bits)
        return false;
    element->client_bits = true;
    element->client_max_window_bits = read_bits(parameter);
    return !parameter->has_value || element->client_max_window_bits != 0;
}

static struct cursor cursor_over(uvhttp_slice_t text)
{
    const char *start = text.length > 0 ? text.base : "";
    return (struct cursor){start, start + text.length};
}

/* The next element of the list: 1, 0 at the end, -1 if it is malformed. */
static int next_element(struct cursor *cursor, struct element *element)
{
    uvhttp_slice_t name;
    struct parameter parameter;
    skip_space(cursor);
    while (take(cursor, ',')) /* empty elements are skipped (RFC 2616 section 2.1) */
        ;
    if (cursor->at == cursor->end)
        return 0;
    if (!take_token(cursor, &name))
        return -1;
    *element = (struct element){
        .deflate = uvh_field_name_equal(name, UVH_SLICE("permessage-deflate")),
        .sound = true,
    };
    while (take(cursor, ';')) {
        if (!take_parameter(cursor, &parameter))
            return -1;
        if (!apply(element, &parameter))
            element->sound = false;
    }
    return cursor->at == cursor->end || *cursor->at == ',' ? 1 : -1;
}

/* ---- the server ---- */

static uint8_t smaller(uint8_t a, uint8_t b)
{
    return a < b ? a : b;
}

static bool agree_to(const struct element *offer,
                     const struct uvh_ws_deflate_preferences *preferences,
                     struct uvh_ws_deflate_terms *terms)
{
    if (!offer->deflate || !offer->sound || offer->server_max_window_bits == MIN_BITS)
        return false;
    *terms = (struct uvh_ws_deflate_terms){
        .server_no_context_takeover =
            offer->server_no_context_takeover || preferences->no_context_takeover,
        .client_no_context_takeover =
            offer->client_no_context_takeover || preferences->no_context_takeover,
        .server_max_window_bits = preferences->own_window_bits,
        .client_max_window_bits = MAX_BITS,
        .server_bits_requested = offer->server_max_window_bits != 0,
    };
    if (offer->server_max_window_bits != 0)
        terms->server_max_window_bits =
            smaller(offer->server_max_window_bits, preferences->own_window_bits);
    if (offer->client_bits)
        terms->client_max_window_bits = preferences->peer_window_bits;
    if (offer->client_max_window_bits != 0)
        terms->client_max_window_bits =
            smaller(offer->client_max_window_bits, preferences->peer_window_bits);
    if (terms->client_max_window_bits > preferences->peer_window_bits)
        terms->client_no_context_takeover = true;
    return true;
}

bool uvh_ws_extension_agree(uvhttp_slice_t offers,
                            const struct uvh_ws_deflate_preferences *preferences,
                            struct uvh_ws_deflate_terms *terms, bool *malformed)
{
    struct cursor cursor = cursor_over(offers);
    struct element element;
    bool agreed = false;
    bool any = false;
    int found;
    while ((found = next_element(&cursor, &element)) > 0) {
        any = true;
        agreed = agreed || (preferences != NULL && agree_to(&element, preferences, terms));
    }
    *malformed = found < 0 || !any;
    return agreed && !*malformed;
}

/* ---- writing ---- */

struct text {
    char *at;
};

static void add(struct text *text, const char *more)
{
    size_t length = strlen(more);
    memcpy(text->at, more, length + 1);
    text->at += length;
}

static void add_bits(struct text *text, const char *name, uint8_t bits)
{
    char digits[MAX_DIGITS + 1] = {(char)('0' + bits % 10)};
    if (bits >= 10) {
        digits[0] = '1';
        digits[1] = (char)('0' + bits - 10);
    }
    add(text, name);
    add(text, "=");
    add(text, digits);
}

#define DEFLATE   "permessage-deflate"
#define SERVER_NO "; server_no_context_takeover"
#define CLIENT_NO "; client_no_context_takeover"
#define SERVER_AT "; server_max_window_bits"
#define CLIENT_AT "; client_max_window_bits"
_Static_assert(sizeof(DEFLATE SERVER_NO CLIENT_NO SERVER_AT "=15" CLIENT_AT "=15") <=
                   UVH_WS_EXTENSION_MAX,
               "the longest text fits");

void uvh_ws_extension_response(const struct uvh_ws_deflate_terms *terms,
                               char text[UVH_WS_EXTENSION_MAX])
{
    struct text out = {text};
    add(&out, DEFLATE);
    if (terms->server_no_context_takeover)
        add(&out, SERVER_NO);
    if (terms->client_no_context_takeover)
        add(&out, CLIENT_NO);
    if (terms->server_bits_requested || terms->server_max_window_bits < MAX_BITS)
        add_bits(&out, SERVER_AT, terms->server_max_window_bits);
    if (terms->client_max_window_bits < MAX_BITS) /* so the client has offered it */
        add_bits(&out, CLIENT_AT, terms->client_max_window_bits);
}

void uvh_ws_extension_offer(const struct uvh_ws_deflate_preferences *preferences,
                            char text[UVH_WS_EXTENSION_MAX])
{
    struct text out = {text};
    add(&out, DEFLATE);
    if (preferences->no_context_takeover)
        add(&out, SERVER_NO CLIENT_NO);
    if (preferences->peer_window_bits < MAX_BITS)
        add_bits(&out, SERVER_AT, preferences->peer_window_bits);
    if (preferences->own_window_bits < MAX_BITS)
        add_bits(&out, CLIENT_AT, preferences->own_window_bits);
    else
        add(&out, CLIENT_AT);
}

/* ---- the client ---- */

/* The response must have one element, the extension that was offered. */
static bool read_response(uvhttp_slice_t response, struct element *element)
{
    struct cursor cursor = cursor_over(response);
    struct element other;
    return next_element(&cursor, element) > 0 && element->deflate && element->sound &&
           next_element(&cursor, &other) == 0;
}

bool uvh_ws_extension_accept(uvhttp_slice_t response,
                             const struct uvh_ws_deflate_preferences *offered,
                             struct uvh_ws_deflate_terms *terms)
{
    struct element element;
    if (!read_response(response, &element))
        return false;
    bool bits_requested = offered->peer_window_bits < MAX_BITS;
    if (offered->no_context_takeover && !element.server_no_context_takeover)
        return false;
    if (bits_requested && (element.server_max_window_bits == 0 ||
                           element.server_max_window_bits > offered->peer_window_bits))
        return false;
    /* only an offer may omit the value */
    if (element.client_bits && element.client_max_window_bits == 0)
        return false;
    *terms = (struct uvh_ws_deflate_terms){
        .server_no_context_takeover = element.server_no_context_takeover,
        /* What we have offered for ourselves holds whether the server repeats it or not (section
         * 7.1.1.2). */
        .client_no_context_takeover =
            element.client_no_context_takeover || offered->no_context_takeover,
        .server_max_window_bits =
            element.server_max_window_bits != 0 ? element.server_max_window_bits : MAX_BITS,
        .client_max_window_bits = offered->own_window_bits,
        .server_bits_requested = bits_requested,
    };
    /* A value above our offer has no effect, and some servers send it. */
    if (element.client_max_window_bits != 0)
        terms->client_max_window_bits =
            smaller(element.client_max_window_bits, offered->own_window_bits);
    return true;
}

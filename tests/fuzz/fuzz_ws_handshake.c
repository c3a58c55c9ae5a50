/* The WebSocket handshake of both sides. Three bytes of the input determine preferences. The rest
 * up to the first NUL is one value, then follows another value, and all of it is a response.
 * Properties: a chosen protocol exists. An origin equals itself, and equality is symmetric. A valid
 * URL gives a request that the parser accepts. The server's terms are within its preferences, and a
 * client accepts the response with the same terms. The terms that a client accepts are within its
 * offer. The result for a response does not depend on how it is split. */
#include "codec/websocket/extension.h"
#include "codec/websocket/handshake.h"
#include "websocket/client_handshake.h"

#include "fuzz/fuzz_check.h"

enum { CHOICES = 3, BITS_LEAST = 9, BITS_KINDS = 7 };

static const char *const own_protocols[] = {"v2.chat", "v1.chat", "x", NULL};
static const uint8_t nonce[] = "the sample nonce";

static struct uvh_ws_deflate_preferences preferences_of(uint8_t choice)
{
    return (struct uvh_ws_deflate_preferences){
        .no_context_takeover = (choice & 1) != 0,
        .own_window_bits = (uint8_t)(BITS_LEAST + (choice >> 1) % BITS_KINDS),
        .peer_window_bits = (uint8_t)(BITS_LEAST + (choice >> 4) % BITS_KINDS),
    };
}

/* ---- values ---- */

static void check_values(uvhttp_slice_t a, uvhttp_slice_t b)
{
    if (uvh_ws_key_valid(a)) {
        char accept[UVH_WS_ACCEPT_SIZE];
        uvh_ws_accept_make(a.base, accept);
        require(accept[UVH_WS_ACCEPT_SIZE - 1] == '=');
    }
    int found = uvh_ws_protocol_choose(a, own_protocols, -1);
    require(found >= -2 && found < 3);
    int both = uvh_ws_protocol_choose(b, own_protocols, found < 0 ? -1 : found);
    require(both == -2 || found < 0 || both <= found);
    require(uvh_ws_origin_equal(a, a) == uvh_ws_origin_valid(a));
    require(uvh_ws_origin_equal(a, b) == uvh_ws_origin_equal(b, a));
    require(!uvh_ws_origin_equal(a, b) || (uvh_ws_origin_valid(a) && uvh_ws_origin_valid(b)));
}

/* `text` and `fields` are NUL-terminated. */
static void check_url(const char *text, const char *fields,
                      const struct uvh_ws_deflate_preferences *preferences)
{
    struct uvh_ws_url url;
    if (!uvh_ws_url_parse(text, &url))
        return;
    require(url.host.length > 0 && url.authority.length > 0 && url.port > 0);
    bool valid = uvh_ws_client_handshake_fields_valid(fields);
    struct uvh_ws_client_handshake handshake = {
        .url = &url, .fields = fields, .protocols = own_protocols, .deflate = preferences};
    size_t size = uvh_ws_client_handshake_size(&handshake);
    char *out = malloc(size);
    require(out != NULL);
    ptrdiff_t length = uvh_ws_client_handshake_write(&handshake, nonce, out, size);
    require((length > 0) == valid);
    if (valid) {
        static uvhttp_field_t table[UINT16_MAX];
        const uvhttp_head_limits_t limits = {UINT32_MAX / 2, UINT32_MAX / 2, UINT16_MAX};
        uvhttp_head_t head;
        uvhttp_framing_t framing;
        uvhttp_head_init(&head, table, UINT16_MAX);
        require(uvhttp_request_head_parse(&head, out, (size_t)length, &limits) ==
                UVHTTP_PARSE_DONE);
        require(head.size == (size_t)length);
        require(uvhttp_request_framing(&head, &framing) == UVHTTP_REASON_NONE);
        require(framing.upgrade && framing.body == UVHTTP_BODY_NONE);
        require(slice_equal(framing.authority, url.authority));
    }
    free(out);
}

/* ---- extensions ---- */

static void require_bits(uint8_t bits, uint8_t min, uint8_t max)
{
    require(bits >= min && bits <= max);
}

static void check_response(const struct uvh_ws_deflate_terms *terms)
{
    char text[UVH_WS_EXTENSION_MAX];
    const struct uvh_ws_deflate_preferences anything = {false, 15, 15};
    struct uvh_ws_deflate_terms again;
    uvh_ws_extension_response(terms, text);
    require(uvh_ws_extension_accept((uvhttp_slice_t){text, strlen(text)}, &anything, &again));
    require(again.server_no_context_takeover == terms->server_no_context_takeover);
    require(again.client_no_context_takeover == terms->client_no_context_takeover);
    require(again.server_max_window_bits == terms->server_max_window_bits);
    require(again.client_max_window_bits == terms->client_max_window_bits);
}

static void check_offers(uvhttp_slice_t offers,
                         const struct uvh_ws_deflate_preferences *preferences)
{
    struct uvh_ws_deflate_terms terms;
    bool malformed, again;
    bool agreed = uvh_ws_extension_agree(offers, preferences, &terms, &malformed);
    require(!uvh_ws_extension_agree(offers, NULL, NULL, &again));
    require(malformed == again && !(agreed && malformed));
    if (!agreed)
        return;
    require_bits(terms.server_max_window_bits, 9, preferences->own_window_bits);
    require_bits(terms.client_max_window_bits, 8, 15);
    require(terms.client_max_window_bits <= preferences->peer_window_bits ||
            terms.client_no_context_takeover);
    require(!preferences->no_context_takeover ||
            (terms.server_no_context_takeover && terms.client_no_context_takeover));
    check_response(&terms);
}

static void check_accepted(uvhttp_slice_t response,
                           const struct uvh_ws_deflate_preferences *offered)
{
    struct uvh_ws_deflate_terms terms;
    bool malformed;
    if (!uvh_ws_extension_accept(response, offered, &terms))
        return;
    require_bits(terms.server_max_window_bits, 8, offered->peer_window_bits);
    require_bits(terms.client_max_window_bits, 8, offered->own_window_bits);
    require(!offered->no_context_takeover ||
            (terms.server_no_context_takeover && terms.client_no_context_takeover));
    uvh_ws_extension_agree(response, NULL, NULL, &malformed);
    require(!malformed);
}

static void check_pair(const struct uvh_ws_deflate_preferences *client,
                       const struct uvh_ws_deflate_preferences *server)
{
    char text[UVH_WS_EXTENSION_MAX];
    struct uvh_ws_deflate_terms terms;
    bool malformed;
    uvh_ws_extension_offer(client, text);
    require(
        uvh_ws_extension_agree((uvhttp_slice_t){text, strlen(text)}, server, &terms, &malformed));
    uvh_ws_extension_response(&terms, text);
    require(uvh_ws_extension_accept((uvhttp_slice_t){text, strlen(text)}, client, &terms));
}

/* ---- responses ---- */

struct verdict {
    uvhttp_parse_result_t result;
    size_t used;
    int status;
    char reason[UVH_WS_REPLY_REASON];
    struct uvh_ws_accepted accepted;
};

static void judge(const struct uvh_ws_client_handshake *handshake, uvhttp_slice_t bytes,
                  size_t first, size_t step, struct verdict *verdict)
{
    static struct uvh_ws_reply reply;
    *verdict = (struct verdict){.result = UVHTTP_PARSE_MORE};
    uvh_ws_reply_init(&reply);
    for (size_t at = 0, size = first; verdict->result == UVHTTP_PARSE_MORE; size = step) {
        size_t used;
        size = size < bytes.length - at ? size : bytes.length - at;
        char *chunk = exact_copy(bytes.base + at, size);
        verdict->result =
            uvh_ws_reply_read(&reply, handshake, chunk, size, &used, &verdict->accepted);
        free(chunk);
        require(used <= size && (verdict->result != UVHTTP_PARSE_MORE || used == size));
        at += used;
        verdict->used += used;
        if (at == bytes.length)
            break;
    }
    verdict->status = reply.status;
    memcpy(verdict->reason, reply.reason, sizeof(reply.reason));
    require((verdict->result == UVHTTP_PARSE_BAD) == (reply.reason[0] != '\0'));
}

static void check_reply(uvhttp_slice_t bytes, size_t cut,
                        const struct uvh_ws_deflate_preferences *preferences)
{
    struct verdict whole, parts;
    struct uvh_ws_client_handshake handshake = {.protocols = own_protocols, .deflate = preferences};
    uvh_ws_key_make(nonce, handshake.key);
    judge(&handshake, bytes, bytes.length, bytes.length, &whole);
    for (int variant = 0; variant < 2; variant++) {
        judge(&handshake, bytes, variant == 0 ? cut : 1, variant == 0 ? bytes.length : 1, &parts);
        require(parts.result == whole.result && parts.status == whole.status);
        require(strcmp(parts.reason, whole.reason) == 0);
        /* The length of a rejected head does not matter. */
        require(parts.used == whole.used || whole.result == UVHTTP_PARSE_BAD);
        require(whole.result != UVHTTP_PARSE_DONE ||
                parts.accepted.protocol == whole.accepted.protocol);
        require(whole.result != UVHTTP_PARSE_DONE ||
                parts.accepted.compressed == whole.accepted.compressed);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < CHOICES)
        return 0;
    struct uvh_ws_deflate_preferences one = preferences_of(data[0]);
    struct uvh_ws_deflate_preferences other = preferences_of(data[1]);
    size_t cut = data[2];
    data += CHOICES;
    size -= CHOICES;
    const uint8_t *nul = size > 0 ? memchr(data, '\0', size) : NULL;
    size_t length = nul != NULL ? (size_t)(nul - data) : size;
    size_t rest = nul != NULL ? size - length - 1 : 0;
    char *first = exact_copy(data, length);
    char *second = exact_copy(nul != NULL ? nul + 1 : data, rest);
    uvhttp_slice_t a = {first, length};
    uvhttp_slice_t b = {second, rest};
    check_values(a, b);
    check_offers(a, &one);
    check_accepted(a, &one);
    check_pair(&one, &other);
    check_reply((uvhttp_slice_t){(const char *)data, size}, cut, &one);
    char *url = calloc(1, length + 1);
    char *fields = calloc(1, rest + 1);
    require(url != NULL && fields != NULL);
    memcpy(url, first, length);
    memcpy(fields, second, rest);
    check_url(url, fields, (data[-1] & 1) != 0 ? &other : NULL);
    free(url);
    free(fields);
    free(first);
    free(second);
    return 0;
}

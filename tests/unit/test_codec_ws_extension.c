/* The negotiation of permessage-deflate: which offers a server agrees to, its response, and which
 * responses a client accepts. */
#include "codec/websocket/extension.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "support/guarded.h"

#define PMD "permessage-deflate"

static struct guarded memory;

static const struct uvh_ws_deflate_preferences largest = {false, 15, 15};
static const struct uvh_ws_deflate_preferences small = {false, 12, 10};
static const struct uvh_ws_deflate_preferences shared = {true, 15, 15};

static uvhttp_slice_t slice_of(const char *text)
{
    return (uvhttp_slice_t){guarded_copy(&memory, text, strlen(text)), strlen(text)};
}

/* ---- the server ---- */

struct offer_row {
    const char *offer;
    const struct uvh_ws_deflate_preferences *preferences;
    const char *response; /* NULL: no agreement */
};

static void check_offers(const struct offer_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct uvh_ws_deflate_terms terms;
        bool malformed;
        bool agreed = uvh_ws_extension_agree(slice_of(rows[i].offer), rows[i].preferences, &terms,
                                             &malformed);
        assert_false(malformed);
        assert_int_equal(agreed, rows[i].response != NULL);
        if (!agreed)
            continue;
        char text[UVH_WS_EXTENSION_MAX];
        uvh_ws_extension_response(&terms, text);
        assert_string_equal(text, rows[i].response);
    }
}

static void acceptable_offers_are_agreed_to(void **state)
{
    (void)state;
    static const struct offer_row rows[] = {
        {PMD, &largest, PMD},
        {"Permessage-Deflate", &largest, PMD},
        {PMD "; client_max_window_bits", &largest, PMD},
        {PMD "; client_max_window_bits=15", &largest, PMD},
        {PMD "; client_max_window_bits=11", &largest, PMD "; client_max_window_bits=11"},
        {PMD "; client_max_window_bits=8", &largest, PMD "; client_max_window_bits=8"},
        {PMD "; server_max_window_bits=15", &largest, PMD "; server_max_window_bits=15"},
        {PMD "; server_max_window_bits=9", &largest, PMD "; server_max_window_bits=9"},
        {PMD "; server_no_context_takeover", &largest, PMD "; server_no_context_takeover"},
        {PMD "; client_no_context_takeover", &largest, PMD "; client_no_context_takeover"},
        {PMD "; Server_No_Context_Takeover", &largest, PMD "; server_no_context_takeover"},
        {PMD ";client_max_window_bits;server_max_window_bits=10;client_no_context_takeover",
         &largest, PMD "; client_no_context_takeover; server_max_window_bits=10"},
        /* Quoted strings, and white space wherever RFC 2616 allows it. */
        {PMD "; client_max_window_bits=\"12\"", &largest, PMD "; client_max_window_bits=12"},
        {PMD "; client_max_window_bits=\"1\\2\"", &largest, PMD "; client_max_window_bits=12"},
        {"\t" PMD " ;\tclient_max_window_bits = 12 ", &largest, PMD "; client_max_window_bits=12"},
        {", ," PMD ",,", &largest, PMD},
        /* Preferences of the server. */
        {PMD "; client_max_window_bits", &small,
         PMD "; server_max_window_bits=12; client_max_window_bits=10"},
        {PMD "; client_max_window_bits=9; server_max_window_bits=11", &small,
         PMD "; server_max_window_bits=11; client_max_window_bits=9"},
        {PMD "; client_max_window_bits=14; server_max_window_bits=14", &small,
         PMD "; server_max_window_bits=12; client_max_window_bits=10"},
        /* A client that cannot limit its window gets no context takeover. */
        {PMD, &small, PMD "; client_no_context_takeover; server_max_window_bits=12"},
        {PMD, &shared, PMD "; server_no_context_takeover; client_no_context_takeover"},
    };
    check_offers(rows, UVH_COUNT_OF(rows));
}

static void unacceptable_offers_are_declined(void **state)
{
    (void)state;
    static const struct offer_row rows[] = {
        {"x-webkit-deflate-frame", &largest, NULL},
        {"permessage-deflate2", &largest, NULL},
        {"permessage-bzip2; client_max_window_bits=\"x\"", &largest, NULL},
        {PMD "; server_max_window_bits=8", &largest, NULL},
        {PMD "; server_max_window_bits", &largest, NULL},
        {PMD "; server_max_window_bits=7", &largest, NULL},
        {PMD "; server_max_window_bits=16", &largest, NULL},
        {PMD "; server_max_window_bits=09", &largest, NULL},
        {PMD "; server_max_window_bits=010", &largest, NULL},
        {PMD "; server_max_window_bits=150", &largest, NULL},
        {PMD "; server_max_window_bits=1", &largest, NULL},
        {PMD "; server_max_window_bits=1x", &largest, NULL},
        {PMD "; server_max_window_bits=+9", &largest, NULL},
        {PMD "; client_max_window_bits=7", &largest, NULL},
        {PMD "; client_max_window_bits=16", &largest, NULL},
        {PMD "; client_max_window_bits=0", &largest, NULL},
        {PMD "; client_max_window_bits=115", &largest, NULL},
        {PMD "; client_no_context_takeover=1", &largest, NULL},
        {PMD "; server_no_context_takeover=\"true\"", &largest, NULL},
        {PMD "; unknown", &largest, NULL},
        {PMD "; unknown=1; client_max_window_bits", &largest, NULL},
        {PMD "; client_max_window_bits; client_max_window_bits", &largest, NULL},
        {PMD "; client_max_window_bits; client_max_window_bits=10", &largest, NULL},
        {PMD "; server_max_window_bits=10; server_max_window_bits=10", &largest, NULL},
        {PMD "; server_max_window_bits=7; server_max_window_bits=10", &largest, NULL},
        {PMD "; server_no_context_takeover; server_no_context_takeover", &largest, NULL},
        {PMD "; client_no_context_takeover; Client_No_Context_Takeover", &largest, NULL},
        {PMD, NULL, NULL},
        /* The next offer is tried. */
        {PMD "; server_max_window_bits=8, " PMD, &largest, PMD},
        {"x-other; a=\"b\", " PMD "; unknown, " PMD "; client_max_window_bits, " PMD
         "; server_max_window_bits=9",
         &largest, PMD},
    };
    check_offers(rows, UVH_COUNT_OF(rows));
}

static void malformed_extensions_are_refused(void **state)
{
    (void)state;
    static const char *const rows[] = {"",
                                       " ",
                                       ",",
                                       ";",
                                       PMD ";",
                                       PMD "; ",
                                       PMD ";; client_max_window_bits",
                                       PMD " client_max_window_bits",
                                       PMD "; client_max_window_bits=",
                                       PMD "; client_max_window_bits=, " PMD,
                                       PMD "; client_max_window_bits=\"\"",
                                       PMD "; client_max_window_bits=\"12",
                                       PMD "; client_max_window_bits=\"12\\",
                                       PMD "; client_max_window_bits=\"12\\\"",
                                       PMD "; client_max_window_bits=\"1 2\"",
                                       PMD "; client_max_window_bits=\"12\"x",
                                       PMD "; a=b=c",
                                       PMD "; =12",
                                       PMD "; a=(b)",
                                       "\"" PMD "\"",
                                       PMD "=1",
                                       PMD ", ;",
                                       PMD "\x7f",
                                       PMD ", x; \xff"};
    for (size_t i = 0; i < UVH_COUNT_OF(rows); i++) {
        struct uvh_ws_deflate_terms terms;
        bool malformed = false;
        assert_false(uvh_ws_extension_agree(slice_of(rows[i]), &largest, &terms, &malformed));
        assert_true(malformed);
        malformed = false;
        assert_false(uvh_ws_extension_agree(slice_of(rows[i]), NULL, &terms, &malformed));
        assert_true(malformed);
        assert_false(uvh_ws_extension_accept(slice_of(rows[i]), &largest, &terms));
    }
    bool malformed = false;
    assert_false(uvh_ws_extension_agree((uvhttp_slice_t){NULL, 0}, &largest, NULL, &malformed));
    assert_true(malformed);
}

/* ---- the client ---- */

static void client_offer_is_serialized(void **state)
{
    (void)state;
    char text[UVH_WS_EXTENSION_MAX];
    uvh_ws_extension_offer(&largest, text);
    assert_string_equal(text, PMD "; client_max_window_bits");
    uvh_ws_extension_offer(&small, text);
    assert_string_equal(text, PMD "; server_max_window_bits=10; client_max_window_bits=12");
    uvh_ws_extension_offer(&shared, text);
    assert_string_equal(
        text,
        PMD "; server_no_context_takeover; client_no_context_takeover; client_max_window_bits");
    uvh_ws_extension_offer(&(struct uvh_ws_deflate_preferences){true, 9, 9}, text);
    assert_string_equal(text, PMD "; server_no_context_takeover; client_no_context_takeover"
                                  "; server_max_window_bits=9; client_max_window_bits=9");
}

struct response_row {
    const char *response;
    const struct uvh_ws_deflate_preferences *offered;
    struct uvh_ws_deflate_terms terms;
};

static void client_accepts_valid_responses(void **state)
{
    (void)state;
    static const struct response_row rows[] = {
        {PMD, &largest, {false, false, 15, 15, false}},
        {PMD "; client_no_context_takeover", &largest, {false, true, 15, 15, false}},
        {PMD "; server_no_context_takeover", &largest, {true, false, 15, 15, false}},
        {PMD "; server_max_window_bits=8", &largest, {false, false, 8, 15, false}},
        {PMD "; client_max_window_bits=8", &largest, {false, false, 15, 8, false}},
        {PMD ";client_max_window_bits=\"10\"", &largest, {false, false, 15, 10, false}},
        {PMD "; server_max_window_bits=10", &small, {false, false, 10, 12, true}},
        {PMD "; server_max_window_bits=9; client_max_window_bits=9",
         &small,
         {false, false, 9, 9, true}},
        {PMD "; server_max_window_bits=9; client_max_window_bits=14",
         &small,
         {false, false, 9, 12, true}},
        {PMD "; server_no_context_takeover", &shared, {true, true, 15, 15, false}},
    };
    for (size_t i = 0; i < UVH_COUNT_OF(rows); i++) {
        struct uvh_ws_deflate_terms terms;
        assert_true(uvh_ws_extension_accept(slice_of(rows[i].response), rows[i].offered, &terms));
        assert_int_equal(terms.server_no_context_takeover,
                         rows[i].terms.server_no_context_takeover);
        assert_int_equal(terms.client_no_context_takeover,
                         rows[i].terms.client_no_context_takeover);
        assert_int_equal(terms.server_max_window_bits, rows[i].terms.server_max_window_bits);
        assert_int_equal(terms.client_max_window_bits, rows[i].terms.client_max_window_bits);
        assert_int_equal(terms.server_bits_requested, rows[i].terms.server_bits_requested);
    }
}

static void client_refuses_responses_beyond_offer(void **state)
{
    (void)state;
    static const struct response_row rows[] = {
        {PMD, &small, {0}},
        {PMD "; server_max_window_bits=11", &small, {0}},
        {PMD, &shared, {0}},
        {PMD "; client_no_context_takeover", &shared, {0}},
        {PMD "; client_max_window_bits", &largest, {0}},
        {PMD "; server_max_window_bits", &largest, {0}},
        {PMD "; server_max_window_bits=16", &largest, {0}},
        {PMD "; server_max_window_bits=010", &largest, {0}},
        {PMD "; unknown", &largest, {0}},
        {PMD "; server_no_context_takeover=1", &largest, {0}},
        {PMD "; server_max_window_bits=9; server_max_window_bits=9", &largest, {0}},
        {PMD ", " PMD, &largest, {0}},
        {PMD ", x-other", &largest, {0}},
        {"x-other", &largest, {0}},
    };
    for (size_t i = 0; i < UVH_COUNT_OF(rows); i++) {
        struct uvh_ws_deflate_terms terms;
        assert_false(uvh_ws_extension_accept(slice_of(rows[i].response), rows[i].offered, &terms));
    }
}

/* ---- both ---- */

/* For any preferences of both ends: they agree, read the same terms, and neither needs a window
 * larger than it prefers. */
static void check_pair(const struct uvh_ws_deflate_preferences *client,
                       const struct uvh_ws_deflate_preferences *server)
{
    struct uvh_ws_deflate_terms at_server;
    struct uvh_ws_deflate_terms at_client;
    char text[UVH_WS_EXTENSION_MAX];
    bool malformed;
    uvh_ws_extension_offer(client, text);
    assert_true(uvh_ws_extension_agree(slice_of(text), server, &at_server, &malformed));
    uvh_ws_extension_response(&at_server, text);
    assert_true(uvh_ws_extension_accept(slice_of(text), client, &at_client));
    assert_int_equal(at_client.server_no_context_takeover, at_server.server_no_context_takeover);
    assert_int_equal(at_client.client_no_context_takeover, at_server.client_no_context_takeover);
    assert_int_equal(at_client.server_max_window_bits, at_server.server_max_window_bits);
    assert_int_equal(at_client.client_max_window_bits, at_server.client_max_window_bits);
    assert_true(at_server.server_max_window_bits <= server->own_window_bits);
    assert_true(at_server.server_max_window_bits <= client->peer_window_bits);
    assert_true(at_server.client_max_window_bits <= client->own_window_bits);
    assert_true(at_server.client_max_window_bits <= server->peer_window_bits);
    if (client->no_context_takeover || server->no_context_takeover)
        assert_true(at_server.client_no_context_takeover && at_server.server_no_context_takeover);
}

static void client_and_server_agree(void **state)
{
    (void)state;
    enum { KINDS = 2 * 7 * 7 };
    struct uvh_ws_deflate_preferences all[KINDS];
    for (unsigned i = 0; i < KINDS; i++)
        all[i] = (struct uvh_ws_deflate_preferences){i % 2 != 0, (uint8_t)(9 + i / 2 % 7),
                                                     (uint8_t)(9 + i / 14)};
    for (size_t client = 0; client < KINDS; client++) {
        for (size_t server = 0; server < KINDS; server++)
            check_pair(&all[client], &all[server]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(acceptable_offers_are_agreed_to),
        cmocka_unit_test(unacceptable_offers_are_declined),
        cmocka_unit_test(malformed_extensions_are_refused),
        cmocka_unit_test(client_offer_is_serialized),
        cmocka_unit_test(client_accepts_valid_responses),
        cmocka_unit_test(client_refuses_responses_beyond_offer),
        cmocka_unit_test(client_and_server_agree),
    };
    memory = guarded_make(4096);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

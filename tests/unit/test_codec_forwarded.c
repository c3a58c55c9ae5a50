/* Forwarded and X-Forwarded-For: which element of a list is trusted, and that elements before it
 * cannot change the result. */
#include "codec/fields/forwarded.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/guarded.h"

static struct guarded memory;

/* "node|proto|host", "-" for absent parameters, "!" if the element is malformed. */
static const char *parse_element(const char *text)
{
    static char result[256];
    struct uvh_forwarded_hop hop;
    size_t length = strlen(text);
    uvhttp_slice_t element = {guarded_copy(&memory, text, length), length};
    if (!uvh_forwarded_element(element, &hop))
        return "!";
    static const uvhttp_slice_t absent = {"-", 1};
    const uvhttp_slice_t parts[] = {hop.node.base ? hop.node : absent,
                                    hop.proto.base ? hop.proto : absent,
                                    hop.host.base ? hop.host : absent};
    snprintf(result, sizeof result, "%.*s|%.*s|%.*s", UVHTTP_SLICE_ARGS(parts[0]),
             UVHTTP_SLICE_ARGS(parts[1]), UVHTTP_SLICE_ARGS(parts[2]));
    return result;
}

static void forwarded_elements_are_parsed(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"for=192.0.2.60;proto=http;by=203.0.113.43", "192.0.2.60|http|-"},
        {"For=\"[2001:db8:cafe::17]:4711\"", "[2001:db8:cafe::17]:4711|-|-"},
        {"host=\"a.example:8080\" ; PROTO=https", "-|https|a.example:8080"},
        {"for=_hidden; x=\"a,b\"", "_hidden|-|-"},
        {"by=1.2.3.4", "-|-|-"},
        {"for=1.2.3.4;", "1.2.3.4|-|-"},
        {"for=1.2.3.4;for=1.2.3.4", "!"},
        {"proto=http;PROTO=https", "!"},
        {"for=1.2.3.4:80", "!"},
        {"for = 1.2.3.4", "!"},
        {"for=", "!"},
        {"for=\"1.2.3.4", "!"},
        {"for=\"1.2.3.4\"x", "!"},
        {";for=1.2.3.4", "!"},
        {"1.2.3.4", "!"},
        {"=1.2.3.4", "!"},
        {"", "!"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_string_equal(parse_element(rows[i][0]), rows[i][1]);
}

static void nodes_are_parsed(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"192.0.2.1", "192.0.2.1"},
        {"192.0.2.1:80", "192.0.2.1"},
        {"192.0.2.1:", "192.0.2.1"},
        {"2001:DB8::1", "2001:db8::1"},
        {"[2001:db8::1]", "2001:db8::1"},
        {"[2001:db8::1]:4711", "2001:db8::1"},
        {"[::ffff:192.0.2.1]:80", "192.0.2.1"},
        {"192.0.2.1:65536", ""},
        {"192.0.2.1:_port", ""},
        {"[192.0.2.1]", ""},
        {"[2001:db8::1", ""},
        {"[2001:db8::1]x", ""},
        {"[]", ""},
        {"2001:db8::1:_p", ""},
        {"unknown", ""},
        {"_hidden", ""},
        {"example.com", ""},
        {"192.0.2.1 ", ""},
        {":80", ""},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        size_t length = strlen(rows[i][0]);
        char text[UVH_IP_ADDRESS_TEXT_SIZE] = "";
        struct uvh_ip_address address;
        if (uvh_forwarded_node((uvhttp_slice_t){guarded_copy(&memory, rows[i][0], length), length},
                               &address))
            uvh_ip_address_format(&address, text);
        assert_string_equal(text, rows[i][1]);
    }
}

/* The elements from the last to the first: "[c][b][a]". */
static const char *split_from_end(const char *text, bool quotes)
{
    static char result[256];
    size_t length = strlen(text), used = 0;
    uvhttp_slice_t rest = {guarded_copy_front(&memory, text, length), length}, element;
    result[0] = '\0';
    while (uvh_forwarded_take_last(&rest, quotes, &element))
        used += (size_t)snprintf(result + used, sizeof result - used, "[%.*s]",
                                 UVHTTP_SLICE_ARGS(element));
    return result;
}

static void elements_are_split_from_end(void **state)
{
    (void)state;
    static const struct {
        const char *text, *plain, *quoted;
    } rows[] = {
        {"", "", ""},
        {" ,\t, ", "", ""},
        {"a", "[a]", "[a]"},
        {"a, b ,,\tc,", "[c][b][a]", "[c][b][a]"},
        {",a b", "[a b]", "[a b]"},
        {"a,\"b,c\"", "[c\"][\"b][a]", "[\"b,c\"][a]"},
        {"a,x=\"b,\\\"c\",d", "[d][\\\"c\"][x=\"b][a]", "[d][x=\"b,\\\"c\"][a]"},
        {"a,\"\\\\\",b", "[b][\"\\\\\"][a]", "[b][\"\\\\\"][a]"},
        {"\", b", "[b][\"]", "[b][\"]"},
        {"x=\", y=\"z\"", "[y=\"z\"][x=\"]", "[y=\"z\"][x=\"]"},
        {"a,\\\",b", "[b][\\\"][a]", "[b][a,\\\"]"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_string_equal(split_from_end(rows[i].text, true), rows[i].quoted);
        assert_string_equal(split_from_end(rows[i].text, false), rows[i].plain);
    }
}

/* "client|proto|hops" for lines separated by '\n'; 10.0.0.0/8 and ::1 are trusted. */
static const char *client_of_lines(const char *lines, bool standard)
{
    static char result[128];
    static const uvhttp_slice_t texts[] = {{"10.0.0.0/8", 10}, {"::1", 3}};
    struct uvh_address_prefix prefixes[2];
    for (size_t i = 0; i < 2; i++)
        assert_true(uvh_address_prefix_parse(texts[i], &prefixes[i]));
    struct uvh_forwarded forwarded = {
        .prefixes = prefixes, .prefix_count = 2, .standard = standard};
    size_t end = strlen(lines);
    const char *guarded_lines = guarded_copy(&memory, lines, end);
    bool more = true;
    while (more) {
        size_t start = end;
        while (start > 0 && guarded_lines[start - 1] != '\n')
            start--;
        more =
            uvh_forwarded_read(&forwarded, (uvhttp_slice_t){guarded_lines + start, end - start}) &&
            start > 0;
        end = start == 0 ? 0 : start - 1;
    }
    char client[UVH_IP_ADDRESS_TEXT_SIZE] = "-";
    if (forwarded.has_client)
        uvh_ip_address_format(&forwarded.client, client);
    snprintf(result, sizeof result, "%s|%.*s|%zu", client, UVHTTP_SLICE_ARGS(forwarded.hop.proto),
             forwarded.hops);
    return result;
}

static void client_is_last_untrusted_hop(void **state)
{
    (void)state;
    static const struct {
        const char *lines, *expected;
        bool standard;
    } rows[] = {
        {"192.0.2.1", "192.0.2.1||1", false},
        {"203.0.113.9, 192.0.2.1", "192.0.2.1||1", false},
        {"203.0.113.9, 192.0.2.1, 10.0.0.1", "192.0.2.1||2", false},
        {"203.0.113.9\n192.0.2.1\n10.0.0.1, ::1", "192.0.2.1||3", false},
        {"10.0.0.3, 10.0.0.2, 10.0.0.1", "10.0.0.3||3", false},
        {"192.0.2.1, unknown, 10.0.0.1", "10.0.0.1||2", false},
        {"192.0.2.1, unknown", "-||1", false},
        {"", "-||0", false},
        {",,", "-||0", false},
        {"\", 192.0.2.1", "192.0.2.1||1", false},
        {"\"a, 192.0.2.1\"", "-||1", false},
        {"::ffff:10.1.1.1, [::1]:80", "10.1.1.1||2", false},
        {"for=192.0.2.1;proto=https", "192.0.2.1|https|1", true},
        {"for=1.2.3.4;proto=http, for=192.0.2.1;proto=https", "192.0.2.1|https|1", true},
        {"for=192.0.2.1;proto=https, for=10.0.0.1;proto=http", "192.0.2.1|https|2", true},
        {"for=192.0.2.1;proto=https\nfor=\"[::1]\";proto=http", "192.0.2.1|https|2", true},
        {"for=unknown;proto=https, for=10.0.0.1;proto=http", "10.0.0.1|https|2", true},
        {"proto=https, for=10.0.0.1;proto=http", "10.0.0.1|https|2", true},
        {"for=1.2.3.4;proto=https, bad, for=10.0.0.1;proto=http", "10.0.0.1||2", true},
        {"for=\", for=192.0.2.1;proto=https", "192.0.2.1|https|1", true},
        {"for=\", for=192.0.2.1;host=\"a\";proto=https", "192.0.2.1|https|1", true},
        {"for=\", for=192.0.2.1;host=\"a,b\";proto=https", "192.0.2.1|https|1", true},
        {"for=\\\", for=\"192.0.2.1\"", "192.0.2.1||1", true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_string_equal(client_of_lines(rows[i].lines, rows[i].standard), rows[i].expected);
}

int main(void)
{
    memory = guarded_make(4096);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forwarded_elements_are_parsed),
        cmocka_unit_test(nodes_are_parsed),
        cmocka_unit_test(elements_are_split_from_end),
        cmocka_unit_test(client_is_last_untrusted_hop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The PROXY protocol: headers of both versions, complete, in parts, and malformed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "codec/proxy/header.h"

#define SIGNATURE "\r\n\r\n\0\r\nQUIT\n"
#define V4 \
    "\xc0\x00\x02\x01\xc6\x33\x64\x02\x10\x92\x01\xbb" /* 192.0.2.1:4242 to 198.51.100.2:443 */

struct row {
    const char *data;
    size_t size;
    enum uvh_proxy_source source;
    const char *client;
    unsigned port;
    size_t tlvs; /* bytes */
};

#define ROW(data, ...)                      \
    {                                       \
        data, sizeof(data) - 1, __VA_ARGS__ \
    }

static const struct row valid[] = {
    ROW("PROXY TCP4 192.0.2.1 198.51.100.2 4242 443\r\n", UVH_PROXY_IP, "192.0.2.1", 4242, 0),
    ROW("PROXY TCP6 2001:db8::1 ::1 65535 0\r\n", UVH_PROXY_IP, "2001:db8::1", 65535, 0),
    ROW("PROXY TCP6 ::ffff:192.0.2.1 ::1 1 2\r\n", UVH_PROXY_IP, "192.0.2.1", 1, 0),
    ROW("PROXY UNKNOWN\r\n", UVH_PROXY_UNKNOWN, NULL, 0, 0),
    ROW("PROXY UNKNOWN ffff:f...f:ffff ffff:f...f:ffff 65535 65535\r\n", UVH_PROXY_UNKNOWN, NULL, 0,
        0),
    ROW(SIGNATURE "\x20\x00\x00\x00", UVH_PROXY_LOCAL, NULL, 0, 0),
    ROW(SIGNATURE "\x20\x11\x00\x03xyz", UVH_PROXY_LOCAL, NULL, 0, 0),
    ROW(SIGNATURE "\x21\x11\x00\x0c" V4, UVH_PROXY_IP, "192.0.2.1", 4242, 0),
    ROW(SIGNATURE "\x21\x11\x00\x15" V4 "\x01\x00\x02h2\x04\x00\x01\x00", UVH_PROXY_IP, "192.0.2.1",
        4242, 9),
    ROW(SIGNATURE "\x21\x21\x00\x24"
                  "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x07"
                  "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\x00\x50\x01\xbb",
        UVH_PROXY_IP, "2001:db8::7", 80, 0),
    ROW(SIGNATURE "\x21\x12\x00\x0c" V4, UVH_PROXY_UNKNOWN, NULL, 0, 0),
    ROW(SIGNATURE "\x21\x00\x00\x00", UVH_PROXY_UNKNOWN, NULL, 0, 0),
};

static void header_is_read_when_it_is_complete(void **state)
{
    (void)state;
    for (size_t i = 0; i < UVH_COUNT_OF(valid); i++) {
        const struct row *row = &valid[i];
        struct uvh_proxy_header header;
        char bytes[256], text[UVH_IP_ADDRESS_TEXT_SIZE];
        for (size_t size = 0; size < row->size; size++)
            assert_int_equal(uvh_proxy_parse(row->data, size, &header), UVH_PROXY_MORE);
        memcpy(bytes, row->data, row->size);
        memcpy(bytes + row->size, "GET / HTTP/1.1\r\n", 16);
        assert_int_equal(uvh_proxy_parse(bytes, row->size + 16, &header), UVH_PROXY_DONE);
        assert_int_equal(header.size, row->size);
        assert_int_equal(header.source, row->source);
        assert_int_equal(header.port, row->port);
        assert_int_equal(header.tlvs.length, row->tlvs);
        if (row->client != NULL) {
            uvh_ip_address_format(&header.client, text);
            assert_string_equal(text, row->client);
        }
    }
}

static void signature_is_found_in_both_versions(void **state)
{
    (void)state;
    static const char request[] = "PROXY /a HTTP/1.1\r\n\r\n";
    for (size_t i = 0; i < UVH_COUNT_OF(valid); i++)
        assert_true(uvh_proxy_has_signature(valid[i].data, valid[i].size));
    assert_false(uvh_proxy_has_signature(valid[0].data, 11));
    assert_false(uvh_proxy_has_signature(request, sizeof(request) - 1));
}

static void other_bytes_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *data;
        size_t size;
    } rows[] = {
        {"G", 1},
        {"PROXX", 5},
        {"PROXYTCP4 192.0.2.1 192.0.2.2 1 2\r\n", 36},
        {"PROXY  TCP4 192.0.2.1 192.0.2.2 1 2\r\n", 38},
        {"PROXY TCP5 192.0.2.1 192.0.2.2 1 2\r\n", 37},
        {"PROXY TCP4 192.0.2.1 192.0.2.2 1\r\n", 35},
        {"PROXY TCP4 192.0.2.1 192.0.2.2 1 2 3\r\n", 39},
        {"PROXY TCP4 192.0.2.1 192.0.2.2 1 2 \r\n", 38},
        {"PROXY TCP4 192.0.2.1 192.0.2.2 01 2\r\n", 38},
        {"PROXY TCP4 192.0.2.1 192.0.2.2 65536 2\r\n", 41},
        {"PROXY TCP4 192.0.2.1 192.0.2.2 1 -2\r\n", 38},
        {"PROXY TCP4 192.0.2.256 192.0.2.2 1 2\r\n", 39},
        {"PROXY TCP4 ::1 ::2 1 2\r\n", 24},
        {"PROXY TCP6 192.0.2.1 192.0.2.2 1 2\r\n", 37},
        {"PROXY TCP4 192.0.2.1 192.0.2.2 1 2\rx", 37},
        {"PROXY\r\n", 7},
        {SIGNATURE "\x22\x11\x00\x00", 16},
        {SIGNATURE "\x11\x11\x00\x00", 16},
        {SIGNATURE "\x21\x11\x00\x0b" V4, 28},                /* an address that is too short */
        {SIGNATURE "\x21\x11\x10\x00" V4, 28},                /* above UVH_PROXY_MOST */
        {SIGNATURE "\x21\x11\x00\x0e" V4 "\x01\x00", 30},     /* a TLV without its length */
        {SIGNATURE "\x21\x11\x00\x0f" V4 "\x01\x00\x01", 31}, /* without its value */
    };
    for (size_t i = 0; i < UVH_COUNT_OF(rows); i++) {
        struct uvh_proxy_header header;
        assert_int_equal(uvh_proxy_parse(rows[i].data, rows[i].size, &header), UVH_PROXY_INVALID);
    }
}

static void line_of_version_1_is_bounded(void **state)
{
    (void)state;
    struct uvh_proxy_header header;
    char line[UVH_PROXY_V1_MOST + 2];
    memset(line, 'x', sizeof(line));
    memcpy(line, "PROXY UNKNOWN ", 14);
    assert_int_equal(uvh_proxy_parse(line, UVH_PROXY_V1_MOST - 1, &header), UVH_PROXY_MORE);
    assert_int_equal(uvh_proxy_parse(line, UVH_PROXY_V1_MOST, &header), UVH_PROXY_INVALID);
    memcpy(line + UVH_PROXY_V1_MOST - 2, "\r\n", 2);
    assert_int_equal(uvh_proxy_parse(line, UVH_PROXY_V1_MOST, &header), UVH_PROXY_DONE);
    memcpy(line + UVH_PROXY_V1_MOST - 2, "x\r\n", 3);
    assert_int_equal(uvh_proxy_parse(line, UVH_PROXY_V1_MOST + 1, &header), UVH_PROXY_INVALID);
}

static void tlvs_are_enumerated(void **state)
{
    (void)state;
    static const char tlvs[] = "\x01\x00\x02h2\x02\x00\x00\xea\x00\x01z";
    uvhttp_slice_t rest = {tlvs, sizeof(tlvs) - 1}, value;
    unsigned char type;
    assert_true(uvh_proxy_next_tlv(&rest, &type, &value));
    assert_int_equal(type, 1);
    assert_int_equal(value.length, 2);
    assert_memory_equal(value.base, "h2", 2);
    assert_true(uvh_proxy_next_tlv(&rest, &type, &value));
    assert_int_equal(value.length, 0);
    assert_true(uvh_proxy_next_tlv(&rest, &type, &value));
    assert_int_equal(type, 0xea);
    assert_false(uvh_proxy_next_tlv(&rest, &type, &value));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(header_is_read_when_it_is_complete),
        cmocka_unit_test(signature_is_found_in_both_versions),
        cmocka_unit_test(other_bytes_are_refused),
        cmocka_unit_test(line_of_version_1_is_bounded),
        cmocka_unit_test(tlvs_are_enumerated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

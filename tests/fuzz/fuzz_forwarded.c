/* The Forwarded and X-Forwarded-For fields. Properties: elements are within the line, from its end
 * to its beginning, not empty and trimmed. A parsed address has one text form, which parses to the
 * same address. Whatever a client sends first, the elements appended by a trusted proxy apply. */
#include "codec/fields/forwarded.h"
#include "codec/text/chars.h"
#include "fuzz/fuzz_check.h"

static void check_address(uvhttp_slice_t text)
{
    struct uvh_ip_address address, again;
    char formatted[UVH_IP_ADDRESS_TEXT_SIZE];
    if (!uvh_forwarded_node(text, &address))
        return;
    size_t length = uvh_ip_address_format(&address, formatted);
    require(length < sizeof formatted && strlen(formatted) == length);
    require(uvh_ip_address_parse((uvhttp_slice_t){formatted, length}, &again));
    require(memcmp(&address, &again, sizeof address) == 0);
}

static void check_prefix(uvhttp_slice_t text)
{
    struct uvh_address_prefix prefix;
    if (!uvh_address_prefix_parse(text, &prefix))
        return;
    require(prefix.bits <= 128 && uvh_address_prefix_holds(&prefix, &prefix.address));
    if (prefix.bits == 0)
        return;
    /* An address that differs in the last bit of the prefix does not match. */
    struct uvh_ip_address other = prefix.address;
    other.bytes[(prefix.bits - 1) / 8] ^= (uint8_t)(0x80 >> (prefix.bits - 1) % 8);
    require(!uvh_address_prefix_holds(&prefix, &other));
}

static void check_list(uvhttp_slice_t line, bool standard)
{
    uvhttp_slice_t rest = line, element;
    const char *previous = line.base + line.length;
    while (uvh_forwarded_take_last(&rest, standard, &element)) {
        struct uvh_forwarded_hop hop;
        require(element.length > 0 && slice_within(element, line));
        require(element.base + element.length <= previous &&
                rest.base + rest.length <= element.base);
        require(!uvh_chars_is(element.base[0], UVH_CHAR_SPACE));
        require(!uvh_chars_is(element.base[element.length - 1], UVH_CHAR_SPACE));
        require(standard || memchr(element.base, ',', element.length) == NULL);
        previous = element.base;
        check_address(element);
        check_prefix(element);
        if (!uvh_forwarded_element(element, &hop))
            continue;
        require(hop.node.base == NULL || slice_within(hop.node, element));
        require(hop.proto.base == NULL || slice_within(hop.proto, element));
        require(hop.host.base == NULL || slice_within(hop.host, element));
    }
    require(rest.length == 0);
}

/* Appends an element to the line, as a trusted proxy does. */
static void check_appended(const uint8_t *data, size_t size, bool standard)
{
    static const char *const texts[] = {
        ", 192.0.2.1, 10.0.0.1",
        ", host=\"a,\\\"b\";for=192.0.2.1;proto=https, for=\"10.0.0.1:80\""};
    struct uvh_address_prefix ten;
    struct uvh_ip_address client;
    require(uvh_address_prefix_parse((uvhttp_slice_t){"10.0.0.0/8", 10}, &ten));
    require(uvh_ip_address_parse((uvhttp_slice_t){"192.0.2.1", 9}, &client));
    size_t length = strlen(texts[standard]);
    char *line = malloc(size + length);
    require(line != NULL);
    if (size > 0)
        memcpy(line, data, size);
    memcpy(line + size, texts[standard], length);
    struct uvh_forwarded forwarded = {.prefixes = &ten, .prefix_count = 1, .standard = standard};
    require(!uvh_forwarded_read(&forwarded, (uvhttp_slice_t){line, size + length}));
    require(forwarded.has_client && forwarded.hops == 2);
    require(memcmp(&forwarded.client, &client, sizeof client) == 0);
    if (standard)
        require(slice_equal(forwarded.hop.proto, (uvhttp_slice_t){"https", 5}));
    free(line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = exact_copy(data, size);
    uvhttp_slice_t line = {copy, size};
    check_address(line);
    check_prefix(line);
    for (int i = 0; i < 2; i++) {
        check_list(line, i == 1);
        check_appended(data, size, i == 1);
    }
    free(copy);
    return 0;
}

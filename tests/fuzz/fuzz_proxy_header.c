/* Headers of the PROXY protocol. Properties: the result of a prefix is that it is incomplete, until
 * the header is complete; then the bytes that follow change nothing. Values are within the header,
 * in order, and fill their space. */
#include "codec/proxy/header.h"
#include "fuzz/fuzz_check.h"

static void check_values(uvhttp_slice_t values)
{
    unsigned char type;
    uvhttp_slice_t rest = values, value;
    const char *next = values.base;
    while (uvh_proxy_next_tlv(&rest, &type, &value)) {
        require(value.base == next + 3 && slice_within(value, values));
        require((unsigned char)next[0] == type);
        next = value.base + value.length;
    }
    require(rest.length == 0);
}

/* `complete`: the result of the whole input. */
static void check_prefix(const char *data, size_t size, size_t length,
                         const struct uvh_proxy_header *complete, enum uvh_proxy_result result)
{
    struct uvh_proxy_header header;
    char *copy = exact_copy(data, length);
    enum uvh_proxy_result here = uvh_proxy_parse(copy, length, &header);
    if (result == UVH_PROXY_DONE) {
        require(here == (length < complete->size ? UVH_PROXY_MORE : UVH_PROXY_DONE));
        if (here == UVH_PROXY_DONE)
            require(header.size == complete->size && header.source == complete->source &&
                    memcmp(&header.client, &complete->client, sizeof(header.client)) == 0);
    } else if (result == UVH_PROXY_MORE) {
        require(here == UVH_PROXY_MORE && length <= size);
    } else {
        require(here != UVH_PROXY_DONE);
    }
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct uvh_proxy_header header;
    if (size == 0)
        return 0;
    char *copy = exact_copy(data, size);
    enum uvh_proxy_result result = uvh_proxy_parse(copy, size, &header);
    if (result == UVH_PROXY_DONE) {
        require(header.size > 0 && header.size <= size && header.size <= UVH_PROXY_MOST);
        if (header.tlvs.length > 0)
            require(slice_within(header.tlvs, (uvhttp_slice_t){copy, header.size}));
        check_values(header.tlvs);
    }
    for (size_t length = 1; length < size && length < 300; length++)
        check_prefix(copy, size, length, &header, result);
    free(copy);
    return 0;
}

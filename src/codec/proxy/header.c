/* See header.h. Addresses of the proxy itself are checked and dropped. */
#include "codec/proxy/header.h"

#include <string.h>

/* ---- version 1: a line of text ---- */

/* The next word of a line, after exactly one space; false at its end. */
static bool next_word(uvhttp_slice_t *line, uvhttp_slice_t *word)
{
    if (line->length < 2 || line->base[0] != ' ')
        return false;
    const char *begin = line->base + 1;
    const char *space = memchr(begin, ' ', line->length - 1);
    size_t length = space == NULL ? line->length - 1 : (size_t)(space - begin);
    *word = (uvhttp_slice_t){begin, length};
    line->base = begin + length;
    line->length -= length + 1;
    return length > 0;
}

/* Without leading zeros. */
static bool read_port(uvhttp_slice_t text, uint16_t *port)
{
    unsigned long number = 0;
    if (text.length == 0 || text.length > 5 || (text.length > 1 && text.base[0] == '0'))
        return false;
    for (size_t i = 0; i < text.length; i++) {
        if (text.base[i] < '0' || text.base[i] > '9')
            return false;
        number = 10 * number + (unsigned long)(text.base[i] - '0');
    }
    *port = (uint16_t)number;
    return number <= UINT16_MAX;
}

/* "TCP6 2001:db8::1 2001:db8::2 4242 443": client, proxy, and their ports. */
static bool read_addresses(uvhttp_slice_t line, bool v6, struct uvh_proxy_header *header)
{
    uvhttp_slice_t words[4];
    struct uvh_ip_address proxy;
    uint16_t proxy_port;
    for (size_t i = 0; i < 4; i++) {
        if (!next_word(&line, &words[i]))
            return false;
    }
    header->source = UVH_PROXY_IP;
    bool valid = line.length == 0 && uvh_ip_address_parse(words[0], &header->client) &&
                 uvh_ip_address_parse(words[1], &proxy) && read_port(words[2], &header->port) &&
                 read_port(words[3], &proxy_port);
    return valid && v6 == (memchr(words[0].base, ':', words[0].length) != NULL);
}

static bool read_line(uvhttp_slice_t line, struct uvh_proxy_header *header)
{
    uvhttp_slice_t family;
    if (!next_word(&line, &family))
        return false;
    header->source = UVH_PROXY_UNKNOWN;
    if (family.length == 7 && memcmp(family.base, "UNKNOWN", 7) == 0)
        return true; /* what follows is ignored */
    if (family.length != 4 || memcmp(family.base, "TCP", 3) != 0)
        return false;
    char version = family.base[3];
    return (version == '4' || version == '6') && read_addresses(line, version == '6', header);
}

static enum uvh_proxy_result parse_v1(const char *data, size_t size,
                                      struct uvh_proxy_header *header)
{
    size_t most = size < UVH_PROXY_V1_MOST ? size : UVH_PROXY_V1_MOST;
    const char *end = memchr(data, '\r', most);
    if (end == NULL)
        return size < UVH_PROXY_V1_MOST ? UVH_PROXY_MORE : UVH_PROXY_INVALID;
    size_t length = (size_t)(end - data);
    if (length + 1 == size)
        return length + 2 > UVH_PROXY_V1_MOST ? UVH_PROXY_INVALID : UVH_PROXY_MORE;
    header->size = length + 2;
    return end[1] == '\n' && header->size <= UVH_PROXY_V1_MOST &&
                   read_line((uvhttp_slice_t){data + 5, length - 5}, header)
               ? UVH_PROXY_DONE
               : UVH_PROXY_INVALID;
}

/* ---- version 2: binary ---- */

static unsigned number_at(const char *data)
{
    return (unsigned)(unsigned char)data[0] << 8 | (unsigned char)data[1];
}

bool uvh_proxy_next_tlv(uvhttp_slice_t *tlvs, unsigned char *type, uvhttp_slice_t *value)
{
    if (tlvs->length < 3)
        return false;
    size_t length = number_at(tlvs->base + 1);
    if (length > tlvs->length - 3)
        return false;
    *type = (unsigned char)tlvs->base[0];
    *value = (uvhttp_slice_t){tlvs->base + 3, length};
    tlvs->base += 3 + length;
    tlvs->length -= 3 + length;
    return true;
}

static bool are_tlvs(uvhttp_slice_t tlvs)
{
    unsigned char type;
    uvhttp_slice_t value;
    while (uvh_proxy_next_tlv(&tlvs, &type, &value)) {
    }
    return tlvs.length == 0;
}

/* `body` follows the fixed part. */
static bool read_body(unsigned char family, uvhttp_slice_t body, struct uvh_proxy_header *header)
{
    enum { STREAM_V4 = 0x11, STREAM_V6 = 0x21, STREAM_UNIX = 0x31 };
    static const unsigned char mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    size_t size = family == STREAM_V4     ? 12
                  : family == STREAM_V6   ? 36
                  : family == STREAM_UNIX ? 216
                                          : 0;
    if (body.length < size)
        return false;
    header->source = UVH_PROXY_UNKNOWN;
    if (size == 0) /* datagrams and later families: where their TLVs begin is not known */
        return true;
    header->source = family == STREAM_UNIX ? UVH_PROXY_UNIX : UVH_PROXY_IP;
    if (family == STREAM_V4) {
        memcpy(header->client.bytes, mapped, sizeof(mapped));
        memcpy(header->client.bytes + sizeof(mapped), body.base, 4);
        header->port = (uint16_t)number_at(body.base + 8);
    } else if (family == STREAM_V6) {
        memcpy(header->client.bytes, body.base, 16);
        header->port = (uint16_t)number_at(body.base + 32);
    }
    header->tlvs = (uvhttp_slice_t){body.base + size, body.length - size};
    return are_tlvs(header->tlvs);
}

static enum uvh_proxy_result parse_v2(const char *data, size_t size,
                                      struct uvh_proxy_header *header)
{
    enum { VERSION = 0x20, LOCAL = 0x20, PROXY = 0x21 };
    if (size < UVH_PROXY_V2_HEAD)
        return UVH_PROXY_MORE;
    unsigned char command = (unsigned char)data[12];
    size_t length = number_at(data + 14);
    header->size = UVH_PROXY_V2_HEAD + length;
    if ((command != LOCAL && command != PROXY) || header->size > UVH_PROXY_MOST)
        return UVH_PROXY_INVALID;
    if (size < header->size)
        return UVH_PROXY_MORE;
    header->source = UVH_PROXY_LOCAL; /* then the rest is ignored */
    return command == LOCAL || read_body((unsigned char)data[13],
                                         (uvhttp_slice_t){data + UVH_PROXY_V2_HEAD, length}, header)
               ? UVH_PROXY_DONE
               : UVH_PROXY_INVALID;
}

static const char v1[] = "PROXY", v2[] = "\r\n\r\n\0\r\nQUIT\n";

bool uvh_proxy_has_signature(const char *data, size_t size)
{
    return size >= 12 && (memcmp(data, v2, 12) == 0 || memcmp(data, "PROXY TCP", 9) == 0 ||
                          memcmp(data, "PROXY UNKNOWN", 12) == 0);
}

enum uvh_proxy_result uvh_proxy_parse(const char *data, size_t size,
                                      struct uvh_proxy_header *header)
{
    *header = (struct uvh_proxy_header){.size = 0};
    if (memcmp(data, v2, size < 12 ? size : 12) == 0)
        return parse_v2(data, size, header);
    if (memcmp(data, v1, size < 5 ? size : 5) == 0)
        return size < 5 ? UVH_PROXY_MORE : parse_v1(data, size, header);
    return UVH_PROXY_INVALID;
}

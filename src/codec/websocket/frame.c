/* The header of a frame: two bytes, an extended length of two or eight bytes, the masking key (RFC
 * 6455 section 5.2). */
#include "codec/websocket/frame.h"

#include <string.h>

/* Numbers are in network order. */
static char *put(char *out, uint64_t number, unsigned bytes)
{
    for (unsigned i = bytes; i > 0; i--)
        *out++ = (char)(uint8_t)(number >> (8 * (i - 1)));
    return out;
}

size_t uvh_ws_frame_head(const struct uvh_ws_frame *frame, char *out)
{
    char *p = out + 2;
    unsigned masked = frame->masked ? 0x80 : 0;
    out[0] = (char)((frame->last ? 0x80 : 0) | (frame->compressed ? 0x40 : 0) | frame->opcode);
    if (frame->length < 126) {
        out[1] = (char)(masked | (unsigned)frame->length);
    } else if (frame->length <= UINT16_MAX) {
        out[1] = (char)(masked | 126);
        p = put(p, frame->length, 2);
    } else {
        out[1] = (char)(masked | 127);
        p = put(p, frame->length, 8);
    }
    if (frame->masked) {
        memcpy(p, frame->mask, sizeof frame->mask);
        p += sizeof frame->mask;
    }
    return (size_t)(p - out);
}

/* 1012 to 1014 are from IANA's registry. 1004 is reserved; 1005, 1006 and 1015 are reported locally
 * and never sent. */
bool uvh_ws_close_code_valid(unsigned code)
{
    return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) ||
           (code >= 3000 && code <= 4999);
}

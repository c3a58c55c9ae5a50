/* The negotiation of permessage-deflate (RFC 7692 section 7) in the field Sec-WebSocket-Extensions
 * (RFC 6455 section 9.1): offers read, one agreed to, and both sides' texts written.
 *
 * Always true: terms never ask us to keep a larger window from one message to the next than the
 * wishes they were made from. A peer that cannot limit its window has to forget it behind each
 * message instead. Called by websocket/accept.c and websocket/client_handshake.c. */
#ifndef UVH_CODEC_WEBSOCKET_EXTENSION_H
#define UVH_CODEC_WEBSOCKET_EXTENSION_H

#include <stdbool.h>
#include <stdint.h>

#include <uvhttp/types.h>

/* What both sides have agreed to. Bits are 8 to 15; those of our own compressor are 8 only for a
 * client whose server has asked for it, and zlib makes none of that size: such a client sends its
 * messages as they are. What a peer compresses with 8 can be read with 9. */
struct uvh_ws_deflate_terms {
    bool server_no_context_takeover;
    bool client_no_context_takeover;
    uint8_t server_max_window_bits;
    uint8_t client_max_window_bits;
    bool
        /* the client has named server_max_window_bits, so the answer has to, also for 15 */
        server_bits_asked;
};

/* What a server is willing to do, or what a client offers. */
struct uvh_ws_deflate_wishes {
    bool no_context_takeover; /* neither side keeps its window */
    uint8_t own_window_bits;  /* the most our compressor may use, 9 to 15 */
    uint8_t peer_window_bits; /* what the peer's is to be limited to, 9 to 15 */
};

/* A server reads the client's offers in one field line, the best first (section 5.1). True when it
 * agrees to one: `*terms` are set then. An offer that has unknown or repeated parameters or values
 * out of range is declined, and the next one looked at (section 7). An offer of
 * server_max_window_bits=8 is declined, since zlib cannot make such. `*malformed`: the line is no
 * list of extensions, for which the handshake is refused, whatever stands in front. `wishes` NULL:
 * nothing is agreed to, only looked at. */
bool uvh_ws_extension_agree(uvhttp_slice_t offers, const struct uvh_ws_deflate_wishes *wishes,
                            struct uvh_ws_deflate_terms *terms, bool *malformed);

enum { UVH_WS_EXTENSION_MAX = 160 }; /* bytes of either text with its NUL */

/* The server's answer: "permessage-deflate; server_no_context_takeover ...", and the offer of a
 * client. NUL-terminated. */
void uvh_ws_extension_answer(const struct uvh_ws_deflate_terms *terms,
                             char text[UVH_WS_EXTENSION_MAX]);
void uvh_ws_extension_offer(const struct uvh_ws_deflate_wishes *wishes,
                            char text[UVH_WS_EXTENSION_MAX]);

/* A client reads the server's answer: false for one that is malformed or does not fit the offer
 * (section 7.1), for which the connection has to be failed. */
bool uvh_ws_extension_accept(uvhttp_slice_t answer, const struct uvh_ws_deflate_wishes *offered,
                             struct uvh_ws_deflate_terms *terms);

#endif

/* Negotiation of permessage-deflate (RFC 7692 section 7) in the field Sec-WebSocket-Extensions (RFC
 * 6455 section 9.1): parses offers, selects one, and writes the texts of both sides.
 *
 * Always true: with the negotiated terms we never keep a larger window between messages than
 * configured. A peer that cannot limit its window must reset it after each message instead. */
#ifndef UVH_CODEC_WEBSOCKET_EXTENSION_H
#define UVH_CODEC_WEBSOCKET_EXTENSION_H

#include <stdbool.h>
#include <stdint.h>

#include <uvhttp/types.h>

/* The negotiated parameters. Bits are 8 to 15; those of our own compressor are 8 only for a client
 * whose server requires it. zlib cannot compress with 8, so such a client sends uncompressed
 * messages. Data compressed with 8 can be decompressed with 9. */
struct uvh_ws_deflate_terms {
    bool server_no_context_takeover;
    bool client_no_context_takeover;
    uint8_t server_max_window_bits;
    uint8_t client_max_window_bits;
    /* the client has sent server_max_window_bits, so the response must contain it, also for 15 */
    bool server_bits_requested;
};

/* The settings of a server, or the offer of a client. */
struct uvh_ws_deflate_preferences {
    bool no_context_takeover; /* neither side keeps its window between messages */
    uint8_t own_window_bits;  /* most window bits of our compressor, 9 to 15 */
    uint8_t peer_window_bits; /* limit requested for the peer's window bits, 9 to 15 */
};

/* Server: reads the client's offers in one field line, in order of preference (section 5.1). True
 * if it accepts one: then `*terms` are set. An offer with unknown or repeated parameters or values
 * out of range is declined, and the next one is tried (section 7). An offer of
 * server_max_window_bits=8 is declined, because zlib cannot compress with 8. `*malformed`: the line
 * is no list of extensions, and the handshake must fail, even after an acceptable offer.
 * `preferences` NULL: only checks the syntax and accepts nothing. */
bool uvh_ws_extension_agree(uvhttp_slice_t offers,
                            const struct uvh_ws_deflate_preferences *preferences,
                            struct uvh_ws_deflate_terms *terms, bool *malformed);

enum { UVH_WS_EXTENSION_MAX = 160 }; /* most bytes of either text with its NUL */

/* The server's response: "permessage-deflate; server_no_context_takeover ...", and the offer of a
 * client. NUL-terminated. */
void uvh_ws_extension_response(const struct uvh_ws_deflate_terms *terms,
                               char text[UVH_WS_EXTENSION_MAX]);
void uvh_ws_extension_offer(const struct uvh_ws_deflate_preferences *preferences,
                            char text[UVH_WS_EXTENSION_MAX]);

/* Client: reads the server's response. False if it is malformed or does not correspond to the offer
 * (section 7.1); then the connection must be failed. */
bool uvh_ws_extension_accept(uvhttp_slice_t response,
                             const struct uvh_ws_deflate_preferences *offered,
                             struct uvh_ws_deflate_terms *terms);

#endif

/* The key of every client handshake here, and its Sec-WebSocket-Accept: the example of RFC 6455
 * section 1.3. The floor sends it to every client, so that neither it nor the load needs SHA-1. */
#define WEBSOCKET_KEY    "dGhlIHNhbXBsZSBub25jZQ=="
#define WEBSOCKET_ACCEPT "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="

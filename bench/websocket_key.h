/* The key of every client handshake in these benchmarks, and its Sec-WebSocket-Accept: the example
 * of RFC 6455 section 1.3. With a fixed key floor and load generator need no SHA-1. */
#define WEBSOCKET_KEY    "dGhlIHNhbXBsZSBub25jZQ=="
#define WEBSOCKET_ACCEPT "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="

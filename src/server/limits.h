/* The limits table: each number of uvhttp_config_t with its default, range, unit and the status a
 * client gets.
 *
 * It is the only source of defaults (config.c), range checks, names in configuration files,
 * environment and flags (config_text.c), docs/limits.md (compared by a test), and the tests of each
 * limit. Status 0: the connection is closed without a response, or the client does not notice. */
#ifndef UVH_SERVER_LIMITS_H
#define UVH_SERVER_LIMITS_H

/* field, default, minimum, maximum, unit, status, description in help and printed configuration */
#define UVH_LIMITS(X)                                                                              \
    X(workers, 1, 1, UVHTTP_WORKERS_MAX, "workers", 0,                                             \
      "threads that serve; 0 or auto for one for each core")                                       \
    X(max_connections, 10000, 1, 10000000, "connections", 503,                                     \
      "connections open at once; more get 503")                                                    \
    X(listen_backlog, 4096, 1, 65535, "connections", 0,                                            \
      "connections the system queues before they are accepted")                                    \
    X(keep_alive_timeout, 60, 1, 86400, "seconds", 0, "idle connections are closed after this")    \
    X(header_timeout, 20, 1, 86400, "seconds", 408, "for a request head to be complete; then 408") \
    X(handshake_timeout, 10, 1, 3600, "seconds", 0,                                                \
      "for a TLS handshake to be complete; then closed")                                           \
    X(body_timeout, 30, 1, 86400, "seconds", 408, "without a byte of the request body; then 408")  \
    X(write_timeout, 60, 1, 86400, "seconds", 0, "without the client taking a byte; then closed")  \
    X(handler_timeout, 0, 0, 86400, "seconds", 503,                                                \
      "for an answer to begin; then 503; 0 for no limit")                                          \
    X(linger_timeout, 5, 1, 3600, "seconds", 0,                                                    \
      "to read what a refused client still sends; then closed")                                    \
    X(drain_timeout, 30, 0, 86400, "seconds", 0, "for open requests to finish when stopped")       \
    X(drain_grace, 0, 0, 3600, "seconds", 0,                                                       \
      "that kept connections stay open when stopped, so that no request on its way is lost")       \
    X(event_heartbeat, 15, 0, 86400, "seconds", 0,                                                 \
      "between comments in a silent stream of events; 0 for none")                                 \
    X(max_target_size, 8192, 16, 1048576, "bytes", 414, "longest request target; more gets 414")   \
    X(max_header_size, 16384, 128, 1048576, "bytes", 431, "largest request head; more gets 431")   \
    X(max_header_count, 100, 1, 4096, "fields", 431, "fields in a request head; more get 431")     \
    X(max_body_size, 1048576, 0, 4294967296, "bytes", 413, "largest request body; more gets 413")  \
    X(max_trailer_size, 8192, 128, 1048576, "bytes", 431,                                          \
      "largest trailer section; more gets 431")                                                    \
    X(max_chunk_extension, 256, 0, 65536, "bytes", 400,                                            \
      "longest extension of a body chunk; more gets 400")                                          \
    X(max_requests_per_connection, 0, 0, 4294967295, "requests", 0,                                \
      "requests until a connection is closed; 0 for no limit")                                     \
    X(blocking_threads, 16, 1, 1024, "threads", 0, "handlers that block and run at once")          \
    X(blocking_queue, 1024, 0, 1000000, "requests", 503,                                           \
      "requests that wait for such a thread; more get 503")                                        \
    X(quick_threads, 4, 1, 1024, "threads", 0, "threads that look files up and read them")         \
    X(quick_queue, 1024, 1, 1000000, "jobs", 503,                                                  \
      "jobs that wait for such a thread; more get 503")                                            \
    X(heavy_threads, 0, 0, 1024, "threads", 0,                                                     \
      "threads for compression, archives and uploads; 0 or auto for one for each core, up to 4")   \
    X(heavy_queue, 1024, 1, 1000000, "jobs", 503,                                                  \
      "jobs that wait for such a thread; more get 503")                                            \
    X(handshake_threads, 0, 0, 1024, "threads", 0,                                                 \
      "threads for TLS handshakes; 0: they run between requests")                                  \
    X(max_handshakes, 8, 0, 10000000, "handshakes", 0,                                             \
      "TLS handshakes a worker begins in a loop iteration; more wait; 0 for no limit")             \
    X(write_backlog, 262144, 1024, 1073741824, "bytes", 0,                                         \
      "of a body in pieces that may wait to be sent; more has to wait")                            \
    X(response_cache_memory, 8388608, 0, 1073741824, "bytes", 0,                                   \
      "for whole answers that are asked for often, for each worker; 0 for none")                   \
    X(buffer_size, 65536, 4096, 16777216, "bytes", 0,                                              \
      "receive and transmit buffers, shared by the connections")

#endif

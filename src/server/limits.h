/* The limits table: each number of uvhttp_config_t with its default, range, unit and the status a
 * client gets.
 *
 * It is the only source of defaults, range checks (config.c), and names in configuration files and
 * the environment (config_text.c). Written by hand for each row: the field in uvhttp/config.h, the
 * row in docs/limits.md (compared by a test), a test, and, for a flag of the program, rows in
 * app/option_table.c and docs/man/uvhttp.1. Status 0: the connection is closed without a response,
 * or the client does not notice. */
#ifndef UVH_SERVER_LIMITS_H
#define UVH_SERVER_LIMITS_H

/* field, default, minimum, maximum, unit, status, description in help and printed configuration */
#define UVH_LIMITS(X)                                                                             \
    X(workers, 1, 1, UVHTTP_WORKERS_MAX, "workers", 0, "worker threads; 0 or auto: one per core") \
    X(max_connections, 10000, 1, 10000000, "connections", 503, "open connections; more get 503")  \
    X(listen_backlog, 4096, 1, 65535, "connections", 0,                                           \
      "connections queued by the system until they are accepted")                                 \
    X(keep_alive_timeout, 60, 1, 86400, "seconds", 0, "time until an idle connection is closed")  \
    X(header_timeout, 20, 1, 86400, "seconds", 408, "time for a complete request head; then 408") \
    X(handshake_timeout, 10, 1, 3600, "seconds", 0,                                               \
      "time for a complete TLS handshake; then closed")                                           \
    X(body_timeout, 30, 1, 86400, "seconds", 408,                                                 \
      "time between two reads of the request body; then 408")                                     \
    X(write_timeout, 60, 1, 86400, "seconds", 0,                                                  \
      "time between two writes to the client; then closed")                                       \
    X(handler_timeout, 60, 0, 86400, "seconds", 503,                                              \
      "time until a response begins; then 503; 0: no limit")                                      \
    X(linger_timeout, 5, 1, 3600, "seconds", 0,                                                   \
      "time to read the rest of a refused request; then closed")                                  \
    X(drain_delay, 0, 0, 3600, "seconds", 0,                                                      \
      "time to serve on at shutdown while the server is not ready, for balancers to notice")      \
    X(drain_timeout, 30, 0, 86400, "seconds", 0, "time for open requests to finish at shutdown")  \
    X(drain_grace, 0, 0, 3600, "seconds", 0,                                                      \
      "time that idle connections stay open at shutdown, so that no request in transit is lost")  \
    X(event_heartbeat, 15, 0, 86400, "seconds", 0,                                                \
      "interval of comments in an idle event stream; 0: none")                                    \
    X(max_target_size, 8192, 16, 1048576, "bytes", 414, "longest request target; more gets 414")  \
    X(max_header_size, 16384, 128, 1048576, "bytes", 431, "largest request head; more gets 431")  \
    X(max_header_count, 100, 1, 4096, "fields", 431, "fields in a request head; more get 431")    \
    X(max_body_size, 1048576, 0, 4294967296, "bytes", 413, "largest request body; more gets 413") \
    X(max_trailer_size, 8192, 128, 1048576, "bytes", 431,                                         \
      "largest trailer section; more gets 431")                                                   \
    X(max_chunk_extension, 256, 0, 65536, "bytes", 400, "longest chunk extension; more gets 400") \
    X(max_requests_per_connection, 0, 0, 4294967295, "requests", 0,                               \
      "requests per connection; then closed; 0: no limit")                                        \
    X(max_connection_age, 0, 0, 4294967, "seconds", 0,                                            \
      "time after which a connection closes with its next response; 0: no limit")                 \
    X(http2, 1, 0, 1, "boolean", 0,                                                               \
      "offer HTTP/2: with TLS by ALPN, otherwise by prior knowledge (h2c)")                       \
    X(http2_max_streams, 100, 1, 65536, "requests", 0,                                            \
      "requests at a time on an HTTP/2 connection; more are refused")                             \
    X(http2_stream_window, 262144, 65535, 2147483647, "bytes", 0,                                 \
      "unread bytes of a body that an HTTP/2 client may send")                                    \
    X(http2_connection_window, 1048576, 65535, 2147483647, "bytes", 0,                            \
      "the same for all bodies of an HTTP/2 connection")                                          \
    X(http2_header_table, 4096, 4096, 65536, "bytes", 0,                                          \
      "table for compressed fields of an HTTP/2 connection")                                      \
    X(http2_control_frames, 1000, 10, 1000000, "frames", 0,                                       \
      "HTTP/2 frames without content per second and connection; then closed")                     \
    X(http2_resets, 1000, 1, 1000000, "requests", 0,                                              \
      "HTTP/2 requests reset per second and connection; then closed")                             \
    X(http2_total_resets, 10000, 0, 4294967295, "requests", 0,                                    \
      "HTTP/2 requests reset per connection; then closed; 0: no limit")                           \
    X(http2_ping_interval, 0, 0, 86400, "seconds", 0,                                             \
      "interval of PING on an HTTP/2 connection with requests that sends nothing; 0: none")       \
    X(blocking_threads, 16, 1, 1024, "threads", 0, "threads for blocking handlers")               \
    X(blocking_queue, 1024, 0, 1000000, "requests", 503,                                          \
      "queued requests for blocking_threads; more get 503")                                       \
    X(blocking_wait_ms, 0, 0, 86400000, "milliseconds", 503,                                      \
      "time that a request may be queued for blocking_threads; then 503; 0: no limit")            \
    X(quick_threads, 4, 1, 1024, "threads", 0, "threads for file lookups and reads")              \
    X(quick_queue, 1024, 1, 1000000, "jobs", 503, "queued jobs for quick_threads; more get 503")  \
    X(heavy_threads, 0, 0, 1024, "threads", 0,                                                    \
      "threads for compression, archives and uploads; 0 or auto: one per core, up to 4")          \
    X(heavy_queue, 1024, 1, 1000000, "jobs", 503, "queued jobs for heavy_threads; more get 503")  \
    X(handshake_threads, 0, 0, 1024, "threads", 0,                                                \
      "threads for TLS handshakes; 0: run on the workers")                                        \
    X(max_handshakes, 8, 0, 10000000, "handshakes", 0,                                            \
      "TLS handshakes started per worker and loop iteration; more are queued; 0: no limit")       \
    X(write_backlog, 262144, 1024, 1073741824, "bytes", 0,                                        \
      "queued data of a streamed body; more is refused until some is sent")                       \
    X(response_cache_memory, 8388608, 0, 1073741824, "bytes", 0,                                  \
      "response cache of each worker; 0: no cache")                                               \
    X(buffer_size, 65536, 4096, 16777216, "bytes", 0,                                             \
      "size of receive and transmit buffers, shared by the connections")                          \
    X(overload_guard, 0, 0, 1, "boolean", 503,                                                    \
      "while overloaded, a part of the requests gets 503 at once")                                \
    X(overload_target_ms, 20, 1, 10000, "milliseconds", 0,                                        \
      "delay of requests above which a worker is overloaded")                                     \
    X(overload_interval_ms, 100, 1, 10000, "milliseconds", 0,                                     \
      "time for which all requests are delayed until a worker is overloaded")                     \
    X(stuck_loop_ms, 0, 0, 3600000, "milliseconds", 0,                                            \
      "time after which a loop that does not run is logged; 0: never")                            \
    X(route_stats, 0, 0, 10000, "routes", 0,                                                      \
      "routes with metrics of their own by method and status class; 0: none")

#endif

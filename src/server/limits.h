/* The limits table: every number of uvhttp_config_t with its default, range, unit and the status a client gets.
 *
 * The one source for defaults (config.c), for the check of values, for docs/limits.md (compared by a test) and for the tests that
 * visit each limit. A status of 0 means that the connection is closed without an answer, or that no client notices. */
#ifndef UVH_SERVER_LIMITS_H
#define UVH_SERVER_LIMITS_H

/*    field                         default     min   max         unit           status */
#define UVH_LIMITS(X)                                               \
    X(workers, 1, 1, 1024, "workers", 0)                            \
    X(max_connections, 10000, 1, 10000000, "connections", 503)      \
    X(listen_backlog, 4096, 1, 65535, "connections", 0)             \
    X(keep_alive_timeout, 60, 1, 86400, "seconds", 0)               \
    X(header_timeout, 20, 1, 86400, "seconds", 408)                 \
    X(body_timeout, 30, 1, 86400, "seconds", 408)                   \
    X(write_timeout, 60, 1, 86400, "seconds", 0)                    \
    X(linger_timeout, 5, 1, 3600, "seconds", 0)                     \
    X(drain_timeout, 30, 0, 86400, "seconds", 0)                    \
    X(max_target_size, 8192, 16, 1048576, "bytes", 414)             \
    X(max_header_size, 16384, 128, 1048576, "bytes", 431)           \
    X(max_header_count, 100, 1, 4096, "fields", 431)                \
    X(max_body_size, 1048576, 0, 4294967296, "bytes", 413)          \
    X(max_trailer_size, 8192, 128, 1048576, "bytes", 431)           \
    X(max_chunk_extension, 256, 0, 65536, "bytes", 400)             \
    X(max_requests_per_connection, 0, 0, 4294967295, "requests", 0) \
    X(write_backlog, 262144, 1024, 1073741824, "bytes", 0)          \
    X(buffer_size, 65536, 4096, 16777216, "bytes", 0)

#endif

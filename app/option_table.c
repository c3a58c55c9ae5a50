/* The table of options. To add one: a row here, a line in docs/man/uvhttp.1 and a test in tests/wire/test_program.py. Read by
 * options.c, which fills struct uvh_options from it, and by help.c, which prints it. */
#include "option_table.h"

#include "options.h"

#define KIB ((size_t)1024)
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)

#define FIELD(name) offsetof(struct uvh_options, name)
#define GROUP(title)  \
    {                 \
        .help = title \
    }

#define OPTION(flag, short_flag, what, field_offset, smallest, largest, unit, text)            \
    {                                                                                          \
        .name = flag, .letter = short_flag, .kind = UVH_OPTION_##what, .offset = field_offset, \
        .low = smallest, .high = largest, .value = unit, .help = text                          \
    }

/* A number of uvhttp_config_t: name and range are those of the field. */
#define CONFIG(flag, field, what, unit, text) OPTION(flag, 0, what, FIELD(config.field), 0, 0, unit, text)

const struct uvh_option uvh_option_table[] = {
    GROUP("Address"),
    OPTION("port", 'p', NUMBER, FIELD(port), 0, 65535, "PORT", "port to listen on; 0 takes a free one"),
    OPTION("listen", 'l', LISTEN, 0, 0, 0, "HOST[:PORT]",
           "address to listen on, IPv6 in brackets; may be given several times (default: every IPv4 address "
           "of the machine)"),

    GROUP("Files"),
    OPTION("listing", 0, SWITCH, FIELD(files.listing), 0, 0, NULL,
           "list the files of a folder that has no index file"),
    OPTION("hidden", 0, SWITCH, FIELD(files.hidden), 0, 0, NULL,
           "serve and list names that begin with a dot"),
    OPTION("index", 0, TEXT, FIELD(files.index), 0, 0, "NAMES",
           "index file names, separated by spaces; \"\" for none (default: index.html)"),
    OPTION("cache-memory", 0, SIZE, FIELD(files.cache_memory), 1, 1024 * GIB, "SIZE",
           "file contents kept in memory (default: 64M)"),
    OPTION("cache-entries", 0, NUMBER, FIELD(files.cache_entries), 1, 1000000, "N",
           "files known at once (default: 1024)"),
    OPTION("memory-file-size", 0, SIZE, FIELD(files.memory_file_size), 1, GIB, "SIZE",
           "largest file kept in memory; larger ones are sent by sendfile (default: a measured size)"),
    OPTION("revalidate-ms", 0, NUMBER, FIELD(files.revalidate_ms), 1, 3600000, "MS",
           "milliseconds until a changed file is noticed (default: 1000)"),

    GROUP("Limits"),
    CONFIG("workers", workers, CORES, "N",
           "threads that serve; 0 or auto for one for each core (default: auto)"),
    CONFIG("max-connections", max_connections, NUMBER, "N", "connections open at once; more get 503"),
    CONFIG("max-requests-per-connection", max_requests_per_connection, NUMBER, "N",
           "requests until a connection is closed; 0 for no limit"),
    CONFIG("max-target-size", max_target_size, SIZE, "SIZE", "longest request target; more gets 414"),
    CONFIG("max-header-size", max_header_size, SIZE, "SIZE", "largest request head; more gets 431"),
    CONFIG("max-header-count", max_header_count, NUMBER, "N", "fields in a request head; more get 431"),
    CONFIG("max-body-size", max_body_size, SIZE, "SIZE", "largest request body; more gets 413"),
    CONFIG("max-trailer-size", max_trailer_size, SIZE, "SIZE", "largest trailer section; more gets 431"),
    CONFIG("max-chunk-extension", max_chunk_extension, SIZE, "SIZE",
           "longest extension of a body chunk; more gets 400"),
    CONFIG("listen-backlog", listen_backlog, NUMBER, "N",
           "connections the system queues before they are accepted"),
    CONFIG("buffer-size", buffer_size, SIZE, "SIZE",
           "receive and transmit buffers, shared by the connections"),

    GROUP("Times, in seconds"),
    CONFIG("keep-alive-timeout", keep_alive_timeout, NUMBER, "S", "idle connections are closed after this"),
    CONFIG("header-timeout", header_timeout, NUMBER, "S", "for a request head to be complete; then 408"),
    CONFIG("body-timeout", body_timeout, NUMBER, "S", "without a byte of the request body; then 408"),
    CONFIG("write-timeout", write_timeout, NUMBER, "S", "without the client taking a byte; then closed"),
    CONFIG("linger-timeout", linger_timeout, NUMBER, "S",
           "to read what a refused client still sends; then closed"),
    CONFIG("drain-timeout", drain_timeout, NUMBER, "S", "for open requests to finish when stopped"),

    GROUP("Output"),
    OPTION("quiet", 'q', LEVEL, FIELD(log_level), UVHTTP_LOG_WARNING, 0, NULL,
           "print warnings and errors only"),
    OPTION("verbose", 'v', LEVEL, FIELD(log_level), UVHTTP_LOG_DEBUG, 0, NULL,
           "print a line for every request, too"),
};

_Static_assert(sizeof(uvh_option_table) / sizeof(uvh_option_table[0]) == UVH_OPTION_COUNT,
               "options.c keeps a note for each row");

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

/* A field of uvhttp_static_config_t. */
#define FILES(flag, what, field, smallest, largest, unit, text)                                 \
    {                                                                                           \
        .name = flag, .kind = UVH_OPTION_##what, .offset = FIELD(files.field), .low = smallest, \
        .high = largest, .value = unit, .help = text, .serve_only = true                        \
    }

/* A number of uvhttp_config_t: name, unit, range and text are those of the limits table. */
#define CONFIG(flag, field, what, unit) OPTION(flag, 0, what, FIELD(config.field), 0, 0, unit, NULL)

const struct uvh_option uvh_option_table[] = {
    GROUP("Address"),
    OPTION("port", 'p', NUMBER, FIELD(port), 0, 65535, "PORT", "port to listen on; 0 takes a free one"),
    OPTION("listen", 'l', LISTEN, 0, 0, 0, "HOST[:PORT]",
           "address to listen on, IPv6 in brackets, or unix:PATH; may be given several times (default: every "
           "IPv4 address "
           "of the machine)"),

    {.help = "Files", .serve_only = true},
    FILES("listing", SWITCH, listing, 0, 0, NULL, "list the files of a folder that has no index file"),
    FILES("listing-max", NUMBER, listing_max, 1, 1000000, "N",
          "entries of a folder that are listed (default: 10000)"),
    FILES("archive", SWITCH, archive, 0, 0, NULL,
          "let a listed folder be downloaded, with all below it, as a tar archive"),
    FILES("archive-entries", NUMBER, archive_entries, 1, 10000000, "N",
          "files and folders an archive may hold (default: 100000)"),
    FILES("archive-size", SIZE, archive_size, 1, 1024 * GIB, "SIZE",
          "bytes of all files in an archive (default: 16G)"),
    FILES("hidden", SWITCH, hidden, 0, 0, NULL, "serve and list names that begin with a dot"),
    FILES("index", TEXT, index, 0, 0, "NAMES",
          "index file names, separated by spaces; \"\" for none (default: index.html)"),
    FILES("cache-memory", SIZE, cache_memory, 1, 1024 * GIB, "SIZE",
          "file contents each worker keeps in memory (default: 64M)"),
    FILES("cache-entries", NUMBER, cache_entries, 1, 1000000, "N",
          "files each worker knows at once (default: 1024)"),
    FILES("memory-file-size", SIZE, memory_file_size, 1, GIB, "SIZE",
          "largest file kept in memory; larger ones are sent by sendfile (default: 16K)"),
    FILES("revalidate-ms", NUMBER, revalidate_ms, 1, 3600000, "MS",
          "milliseconds until a changed file is noticed (default: 1000)"),

    GROUP("Limits"),
    CONFIG("workers", workers, NUMBER, "N"),
    CONFIG("max-connections", max_connections, NUMBER, "N"),
    CONFIG("max-requests-per-connection", max_requests_per_connection, NUMBER, "N"),
    CONFIG("max-target-size", max_target_size, SIZE, "SIZE"),
    CONFIG("max-header-size", max_header_size, SIZE, "SIZE"),
    CONFIG("max-header-count", max_header_count, NUMBER, "N"),
    CONFIG("max-body-size", max_body_size, SIZE, "SIZE"),
    CONFIG("max-trailer-size", max_trailer_size, SIZE, "SIZE"),
    CONFIG("max-chunk-extension", max_chunk_extension, SIZE, "SIZE"),
    CONFIG("listen-backlog", listen_backlog, NUMBER, "N"),
    CONFIG("buffer-size", buffer_size, SIZE, "SIZE"),

    GROUP("Times, in seconds"),
    CONFIG("keep-alive-timeout", keep_alive_timeout, NUMBER, "S"),
    CONFIG("header-timeout", header_timeout, NUMBER, "S"),
    CONFIG("body-timeout", body_timeout, NUMBER, "S"),
    CONFIG("write-timeout", write_timeout, NUMBER, "S"),
    CONFIG("linger-timeout", linger_timeout, NUMBER, "S"),
    CONFIG("drain-timeout", drain_timeout, NUMBER, "S"),

    GROUP("Output"),
    OPTION("quiet", 'q', LEVEL, FIELD(log_level), UVHTTP_LOG_WARNING, 0, NULL,
           "print warnings and errors only"),
    OPTION("verbose", 'v', LEVEL, FIELD(log_level), UVHTTP_LOG_DEBUG, 0, NULL,
           "print a line for every request, too"),
};

_Static_assert(sizeof(uvh_option_table) / sizeof(uvh_option_table[0]) == UVH_OPTION_COUNT,
               "options.c keeps a note for each row");

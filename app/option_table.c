/* The table of options. To add one: a row here, a line in docs/man/uvhttp.1 and a test in
 * tests/wire/test_program.py or test_serve_site.py. options.c fills struct uvh_options from it, and
 * help.c prints it. */
#include "option_table.h"

#include <ctype.h>
#include <stdio.h>

#include "options.h"

#define KIB ((size_t)1024)
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)

#define FIELD(name) offsetof(struct uvh_options, name)
#define GROUP(title)  \
    {                 \
        .help = title \
    }

#define SERVE_GROUP(title)                \
    {                                     \
        .help = title, .serve_only = true \
    }

#define OPTION(flag, short_flag, what, field_offset, smallest, largest, unit, text)            \
    {                                                                                          \
        .name = flag, .letter = short_flag, .kind = UVH_OPTION_##what, .offset = field_offset, \
        .low = smallest, .high = largest, .value = unit, .help = text                          \
    }

/* A field of uvhttp_static_options_t. */
#define FILES(flag, what, field, smallest, largest, unit, text)                                 \
    {                                                                                           \
        .name = flag, .kind = UVH_OPTION_##what, .offset = FIELD(files.field), .low = smallest, \
        .high = largest, .value = unit, .help = text, .serve_only = true                        \
    }

/* The same for a list, which is a separate member. */
#define FILE_LIST(flag, field, unit, text)                                            \
    {                                                                                 \
        .name = flag, .kind = UVH_OPTION_LIST, .offset = FIELD(field), .value = unit, \
        .help = text, .serve_only = true                                              \
    }

/* A number of uvhttp_config_t: name, unit, range and text are those of the limits table. */
#define CONFIG(flag, field, what, unit) OPTION(flag, 0, what, FIELD(config.field), 0, 0, unit, NULL)

/* One of several words, and a text. */
#define SERVE_WORD(flag, field, list, unit, text)                                     \
    {                                                                                 \
        .name = flag, .kind = UVH_OPTION_WORD, .offset = FIELD(field), .words = list, \
        .value = unit, .help = text, .serve_only = true                               \
    }
#define SERVE_TEXT(flag, field, unit, text)                                           \
    {                                                                                 \
        .name = flag, .kind = UVH_OPTION_TEXT, .offset = FIELD(field), .value = unit, \
        .help = text, .serve_only = true                                              \
    }

/* A field of struct uvh_tls_options. */
#define TLS(flag, what, field, smallest, largest, unit, text)                                 \
    {                                                                                         \
        .name = flag, .kind = UVH_OPTION_##what, .offset = FIELD(tls.field), .low = smallest, \
        .high = largest, .value = unit, .help = text, .serve_only = true                      \
    }

/* In the order of uvhttp_tls_profile_t, and of uvhttp_tls_client_auth_t. */
static const char *const profile_words[] = {"intermediate", "modern", NULL};
static const char *const client_auth_words[] = {"off", "optional", "required", NULL};

/* In the order of uvhttp_static_symlinks_t. */
static const char *const symlink_words[] = {"inside", "all", "none", "owner", NULL};

const struct uvh_option uvh_option_table[] = {
    GROUP("Address"),
    OPTION("port", 'p', NUMBER, FIELD(port), 0, 65535, "PORT",
           "port to listen on, with TLS 8443 if none is given; 0 takes a free one"),
    OPTION("listen", 'l', LISTEN, 0, 0, 0, "HOST[:PORT]",
           "address to listen on, IPv6 in brackets, or unix:PATH; may be given several times; with "
           "TLS, "
           "http://HOST[:PORT] is one without (default: every IPv4 address of the machine)"),

    SERVE_GROUP("TLS"),
    TLS("tls-cert", LIST, certificates, 0, 0, "FILE",
        "serve HTTPS with this certificate (PEM, with its intermediates after it); may be given "
        "several "
        "times"),
    TLS("tls-key", LIST, keys, 0, 0, "FILE",
        "its private key (PEM), unless that is in the same file; the n-th key belongs to the n-th "
        "certificate"),
    TLS("tls-self-signed", SWITCH, self_signed, 0, 0, NULL,
        "serve HTTPS with a certificate of our own, for localhost, this machine's name and its "
        "addresses"),
    TLS("tls-passphrase-file", TEXT, passphrase_file, 0, 0, "FILE",
        "file whose first line is the pass phrase of the keys"),
    SERVE_WORD("tls-profile", tls.profile, profile_words, "PROFILE",
               "intermediate (TLS 1.2 and 1.3) or modern (TLS 1.3 alone) (default: intermediate)"),
    SERVE_WORD("tls-client-auth", tls.client_auth, client_auth_words, "WHEN",
               "ask clients for a certificate: off, optional or required (default: off)"),
    TLS("tls-client-ca", TEXT, client_ca, 0, 0, "FILE",
        "authorities (PEM) that certificates of clients have to come from"),
    TLS("tls-client-crl", TEXT, client_crl, 0, 0, "FILE",
        "lists (PEM) of those that are revoked, one of each authority"),
    TLS("tls-key-log", TEXT, key_log, 0, 0, "FILE",
        "append the secrets of all sessions to this file, for Wireshark; whoever has it can read "
        "them"),
    TLS("tls-one-time-tickets", SWITCH, one_time_tickets, 0, 0, NULL,
        "let each session ticket of TLS 1.3 resume a session once"),
    TLS("tls-early-data", SIZE, early_data, 1, MIB, "SIZE",
        "accept so much early data (0-RTT) from clients that come again, such as 16K; others can "
        "send it "
        "again (default: none)"),
    TLS("tls-ktls", SWITCH, ktls, 0, 0, NULL,
        "let the kernel encrypt what is sent, where it can (Linux, module tls; AES-GCM) (default: "
        "off)"),
    TLS("tls-watch", SWITCH, watch, 0, 0, NULL,
        "load certificates and keys again when their files change"),
    TLS("redirect-http", PORT, redirect_http, 0, 65535, "PORT",
        "listen there without TLS, too, and redirect every request to https"),
    TLS("hsts", TIME, hsts, 0, 10 * 365 * 86400, "S",
        "have browsers come by https alone for so long (Strict-Transport-Security), such as 365d"),

    SERVE_GROUP("Files"),
    FILES("listing", SWITCH, listing, 0, 0, NULL,
          "list the files of a folder that has no index file"),
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
          "milliseconds until a changed file is noticed (default: 1000, 10000 with --watch)"),
    FILES("precompressed", SWITCH, precompressed, 0, 0, NULL,
          "send FILE.br, FILE.zst or FILE.gz for FILE to those who accept it"),
    FILES("compress", SWITCH, compress, 0, 0, NULL,
          "compress what becomes smaller when it is asked for, and keep it in the cache"),
    FILES("compress-min-size", SIZE, compress_min_size, 1, GIB, "SIZE",
          "smallest file that is compressed when asked for (default: 1K)"),
    FILES("compress-max-size", SIZE, compress_max_size, 1, GIB, "SIZE",
          "largest file that is compressed when asked for (default: 8M)"),
    FILES("gzip-level", NUMBER, gzip_level, 1, 9, "N",
          "how hard --compress tries with gzip (default: 5)"),
    FILES("brotli-level", NUMBER, brotli_level, 1, 11, "N",
          "how hard --compress tries with brotli (default: 4)"),
    FILES("zstd-level", NUMBER, zstd_level, 1, 19, "N",
          "how hard --compress tries with zstd (default: 3)"),
    FILES("watch", SWITCH, watch, 0, 0, NULL,
          "have the system tell of changed files, so that they show within milliseconds"),
    FILES("negative-ms", NUMBER, negative_ms, 1, 3600000, "MS",
          "milliseconds for which it is remembered that a file is not there (default: as "
          "--revalidate-ms, up "
          "to "
          "1000)"),
    FILES("cache-descriptors", NUMBER, cache_descriptors, 1, 1000000, "N",
          "files kept open (default: a quarter of what the process may open)"),
    SERVE_TEXT("prewarm", prewarm, "PATTERNS",
               "files to load before the first request, such as \"**/*.css /index.html\""),
    FILE_LIST(
        "type", types, "EXT=TYPE",
        "type of the files with this extension (md=text/markdown); may be given several times"),
    FILES("default-type", TEXT, default_type, 0, 0, "TYPE",
          "type of files with an unknown extension (default: application/octet-stream)"),
    FILE_LIST("cache-control", cache_control, "PATTERN=VALUE",
              "Cache-Control of the files that fit, as '/img/**=max-age=3600'; may be given "
              "several times, "
              "the last that fits counts"),
    FILE_LIST(
        "download", downloads, "PATTERN",
        "have browsers store the files that fit instead of showing them (Content-Disposition: "
        "attachment); may be given several times"),
    FILE_LIST("header", headers, "PATTERN=NAME: VALUE",
              "field of the files that fit, as '*.html=X-Robots-Tag: none'; may be given several "
              "times, the "
              "last that fits counts"),
    FILES("immutable-assets", SWITCH, immutable_assets, 0, 0, NULL,
          "have files with a hash in their name (app-3f2a9c01.js) kept for a year, and HTML asked "
          "for each "
          "time"),
    FILES("rate-limit", SIZE, rate_limit, 1, 1024 * GIB, "SIZE",
          "bytes per second of each answer, for bandwidth (default: no limit)"),
    FILES("rate-burst", SIZE, rate_burst, 1, 1024 * GIB, "SIZE",
          "bytes of an answer before that limit (default, and no less: a quarter of a second's "
          "worth)"),
    FILES("uploads", SWITCH, uploads, 0, 0, NULL,
          "take files by PUT, and by POST from forms, from anybody"),
    FILES("upload-max-size", SIZE, upload_max_size, 1, 1024 * 1024 * GIB, "SIZE",
          "largest body of an upload (default: 1G)"),
    FILES("upload-overwrite", SWITCH, upload_overwrite, 0, 0, NULL,
          "let an upload replace a file that is there"),
    FILES("upload-directories", SWITCH, upload_directories, 0, 0, NULL,
          "make the folders that are missing above an uploaded file"),
    FILES("upload-sync", SWITCH, upload_sync, 0, 0, NULL,
          "answer an upload when it is safe on the disk (fsync)"),
    FILES("clean-urls", SWITCH, clean_urls, 0, 0, NULL,
          "serve about.html as /about, and redirect /about.html there"),
    FILES("spa", SWITCH, spa, 0, 0, NULL,
          "answer paths that are missing with the index file, for an application's own routes"),
    FILES("fallback", TEXT, fallback, 0, 0, "FILE", "the same with another file"),
    FILES("try-files", TEXT, try_files, 0, 0, "LIST",
          "what is tried for a path, in order (default: \"{path} {path}/\")"),
    FILES("error-pages", TEXT, error_pages, 0, 0, "LIST",
          "pages for 403, 404, 500, 503 and what --try-files ends with, such as \"404=/404.html "
          "5xx=/sorry.html\"; refused uploads have none"),
    SERVE_WORD("symlinks", files.symlinks, symlink_words, "POLICY",
               "where symbolic links may lead: inside, all (anywhere), none, or owner (to what "
               "belongs to the "
               "link's owner) (default: inside)"),
    FILE_LIST("more-root", more_roots, "FOLDER",
              "folder to look in for what DIR has not; may be given several times, they are tried "
              "in order"),
    FILE_LIST("alias", aliases, "/PATH/=FOLDER",
              "serve another folder below a path, or with /PATH=FILE one file; may be given "
              "several times"),
    SERVE_TEXT("auth", auth, "FILE",
               "ask for a name and a password, which stand in FILE as htpasswd -B writes them"),

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
    CONFIG("quick-threads", quick_threads, NUMBER, "N"),
    CONFIG("quick-queue", quick_queue, NUMBER, "N"),
    CONFIG("heavy-threads", heavy_threads, NUMBER, "N"),
    CONFIG("heavy-queue", heavy_queue, NUMBER, "N"),
    CONFIG("handshake-threads", handshake_threads, NUMBER, "N"),
    CONFIG("max-handshakes", max_handshakes, NUMBER, "N"),
    CONFIG("response-cache-memory", response_cache_memory, SIZE, "SIZE"),
    CONFIG("buffer-size", buffer_size, SIZE, "SIZE"),

    GROUP("Times, in seconds"),
    CONFIG("keep-alive-timeout", keep_alive_timeout, NUMBER, "S"),
    CONFIG("header-timeout", header_timeout, NUMBER, "S"),
    CONFIG("handshake-timeout", handshake_timeout, NUMBER, "S"),
    CONFIG("body-timeout", body_timeout, NUMBER, "S"),
    CONFIG("write-timeout", write_timeout, NUMBER, "S"),
    CONFIG("linger-timeout", linger_timeout, NUMBER, "S"),
    CONFIG("drain-timeout", drain_timeout, NUMBER, "S"),
    CONFIG("drain-grace", drain_grace, NUMBER, "S"),

    GROUP("Output"),
    OPTION("quiet", 'q', LEVEL, FIELD(log_level), UVHTTP_LOG_WARNING, 0, NULL,
           "print warnings and errors only"),
    OPTION("verbose", 'v', LEVEL, FIELD(log_level), UVHTTP_LOG_DEBUG, 0, NULL,
           "print a line for every request, too"),
};

const size_t uvh_option_count = sizeof(uvh_option_table) / sizeof(uvh_option_table[0]);

_Static_assert(sizeof(uvh_option_table) / sizeof(uvh_option_table[0]) <= UVH_OPTION_MAX,
               "options.c keeps a note for each row");

void uvh_options_variable(const struct uvh_option *option, char name[UVH_OPTIONS_VARIABLE_SIZE])
{
    snprintf(name, UVH_OPTIONS_VARIABLE_SIZE, "UVHTTP_%s", option->name);
    for (char *c = name; *c != '\0'; c++)
        *c = *c == '-' ? '_' : (char)toupper((unsigned char)*c);
}

void uvh_options_key(const struct uvh_option *option, char key[UVH_OPTIONS_VARIABLE_SIZE])
{
    snprintf(key, UVH_OPTIONS_VARIABLE_SIZE, "%s", option->name);
    for (char *c = key; *c != '\0'; c++)
        *c = *c == '-' ? '_' : *c;
}

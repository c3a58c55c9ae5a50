/* The table of options. To add one: a row here, a line in docs/man/uvhttp.1 and a test in
 * tests/wire/test_program.py or test_serve_site.py. options.c fills struct uvh_options from it, and
 * help.c prints it. */
#include "option_table.h"

#include <ctype.h>
#include <stdio.h>

#include "client_rules.h"
#include "mapping.h"
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

/* The same for a list, a member of struct uvh_options itself. */
#define FILE_LIST(flag, field, unit, text)                                            \
    {                                                                                 \
        .name = flag, .kind = UVH_OPTION_LIST, .offset = FIELD(field), .value = unit, \
        .help = text, .serve_only = true                                              \
    }

/* A number or a switch of uvhttp_config_t: name, unit, range and text are those of the limits
 * table. */
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

/* A text or a list whose values are checked when they are read. */
#define CHECKED(flag, what, field, unit, function, text)                                \
    {                                                                                   \
        .name = flag, .kind = UVH_OPTION_##what, .offset = FIELD(field), .value = unit, \
        .check = function, .help = text, .serve_only = true                             \
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

/* In the order of enum uvh_no_new_privs, and of enum uvh_confine_mode. */
static const char *const no_new_privs_words[] = {"auto", "off", "on", NULL};
static const char *const confine_words[] = {"off", "on", "best-effort", NULL};

/* in the order of uvhttp_forwarding_t */
static const char *const proxy_words[] = {"x-forwarded", "forwarded", NULL};

/* in the order of uvhttp_proxy_others_t */
static const char *const others_words[] = {"direct", "ignore", "refuse", NULL};

const struct uvh_option uvh_option_table[] = {
    GROUP("Address"),
    OPTION("port", 'p', NUMBER, FIELD(port), 0, 65535, "PORT",
           "port to listen on; 0 selects a free one; with TLS the default is 8443"),
    OPTION("listen", 'l', LISTEN, 0, 0, 0, "HOST[:PORT]",
           "address to listen on: IPv4, IPv6 in brackets, a port alone, or "
           "unix:PATH[:mode=MODE][:owner=USER][:group=GROUP]; repeatable; http://HOST[:PORT] "
           "disables TLS (default: every IPv4 and IPv6 address)"),
    OPTION("user", 0, TEXT, FIELD(user), 0, 0, "USER",
           "change from root to this user, by name or number, before the first request"),
    OPTION("group", 0, TEXT, FIELD(group), 0, 0, "GROUP",
           "with --user: change to this group (default: that of the user)"),
    {.name = "no-new-privs",
     .kind = UVH_OPTION_WORD,
     .offset = FIELD(no_new_privs),
     .value = "WHEN",
     .preset = "on",
     .words = no_new_privs_words,
     .help = "executed programs get no privileges: on (without a value), off, or auto, which is on "
             "after a change of the user and if the process is confined (default: auto)"},
    {.name = "confine",
     .kind = UVH_OPTION_WORD,
     .offset = FIELD(confine),
     .value = "WHEN",
     .preset = "on",
     .words = confine_words,
     .help = "restrict the process to the files and system calls that it needs (Linux): on "
             "(without a value), best-effort (also start where the kernel cannot), or off "
             "(default: off)"},
    OPTION("pid-file", 0, TEXT, FIELD(pid_file), 0, 0, "FILE",
           "write the process id to this file, for scripts and uvhttp reload"),
    {.name = "trusted-proxy",
     .kind = UVH_OPTION_LIST,
     .offset = FIELD(proxies),
     .value = "ADDRESS",
     .check = uvh_client_rules_check_proxy,
     .help = "proxy whose fields name the client, such as 10.0.0.0/8 or unix; repeatable"},
    {.name = "proxy-fields",
     .kind = UVH_OPTION_WORD,
     .offset = FIELD(proxy_fields),
     .value = "FIELDS",
     .words = proxy_words,
     .help = "fields of trusted proxies: x-forwarded (X-Forwarded-For, -Proto, -Host) or "
             "forwarded (Forwarded) (default: x-forwarded)"},
    {.name = "proxy-protocol",
     .kind = UVH_OPTION_LIST,
     .offset = FIELD(proxy_sources),
     .value = "ADDRESS",
     .check = uvh_client_rules_check_proxy,
     .help = "connections of this proxy begin with a header of the PROXY protocol; repeatable"},
    {.name = "proxy-protocol-others",
     .kind = UVH_OPTION_WORD,
     .offset = FIELD(proxy_others),
     .value = "WHAT",
     .words = others_words,
     .help = "other connections: direct (clients of their own), ignore (a header is skipped and "
             "not believed) or refuse (default: direct)"},

    SERVE_GROUP("TLS"),
    TLS("tls-cert", LIST, certificates, 0, 0, "FILE",
        "certificate for HTTPS (PEM, followed by its intermediates); repeatable"),
    TLS("tls-key", LIST, keys, 0, 0, "FILE",
        "private key (PEM), unless it is in the certificate's file; the n-th key belongs to the "
        "n-th certificate"),
    TLS("tls-self-signed", SWITCH, self_signed, 0, 0, NULL,
        "serve HTTPS with a self-signed certificate for localhost, the name of this machine and "
        "its addresses"),
    TLS("tls-passphrase-file", TEXT, passphrase_file, 0, 0, "FILE",
        "file whose first line is the pass phrase of the keys"),
    SERVE_WORD("tls-profile", tls.profile, profile_words, "PROFILE",
               "intermediate (TLS 1.2 and 1.3) or modern (TLS 1.3 only) (default: intermediate)"),
    SERVE_WORD("tls-client-auth", tls.client_auth, client_auth_words, "WHEN",
               "request a certificate from clients: off, optional or required (default: off)"),
    TLS("tls-client-ca", TEXT, client_ca, 0, 0, "FILE",
        "authorities (PEM) for certificates of clients"),
    TLS("tls-client-crl", TEXT, client_crl, 0, 0, "FILE",
        "revocation lists (PEM) for certificates of clients, one for each authority"),
    TLS("tls-key-log", TEXT, key_log, 0, 0, "FILE",
        "append the secrets of all sessions to this file, for Wireshark; they decrypt all traffic"),
    TLS("tls-one-time-tickets", SWITCH, one_time_tickets, 0, 0, NULL,
        "accept each session ticket of TLS 1.3 once"),
    TLS("tls-early-data", SIZE, early_data, 1, MIB, "SIZE",
        "early data (0-RTT) to accept when a session is resumed, such as 16K; it can be replayed "
        "(default: none)"),
    TLS("tls-ktls", SWITCH, ktls, 0, 0, NULL,
        "encrypt sent data in the kernel if possible (Linux, module tls; AES-GCM)"),
    TLS("tls-watch", SWITCH, watch, 0, 0, NULL,
        "reload certificates and keys when their files change"),
    TLS("redirect-http", PORT, redirect_http, 0, 65535, "PORT",
        "also listen on this port without TLS, and redirect every request to https"),
    TLS("hsts", TIME, hsts, 0, 10 * 365 * 86400, "S",
        "send Strict-Transport-Security with this max-age, such as 365d"),

    SERVE_GROUP("Files"),
    FILES("listing", SWITCH, listing, 0, 0, NULL,
          "list the files of a directory that has no index file"),
    FILES("listing-max", NUMBER, listing_max, 1, 1000000, "N",
          "maximum number of entries in a listing (default: 10000)"),
    FILES("archive", SWITCH, archive, 0, 0, NULL,
          "offer each listed directory, with everything below it, as a tar or zip archive"),
    FILES("archive-entries", NUMBER, archive_entries, 1, 10000000, "N",
          "maximum number of files and directories in an archive (default: 100000)"),
    FILES("archive-size", SIZE, archive_size, 1, 1024 * GIB, "SIZE",
          "maximum size of all files in an archive (default: 16G)"),
    FILES("hidden", SWITCH, hidden, 0, 0, NULL, "serve and list names that begin with a dot"),
    FILE_LIST("hide", hide, "PATTERN",
              "deny files and directories that match, such as \"*.bak\" or /private, with 404, and "
              "omit them from listings; repeatable"),
    FILES("index", TEXT, index, 0, 0, "NAMES",
          "names of index files, separated by spaces; \"\" for none (default: index.html)"),
    FILES("cache-memory", SIZE, cache_memory, 1, 1024 * GIB, "SIZE",
          "memory of each worker for cached file contents (default: 64M)"),
    FILES("cache-entries", NUMBER, cache_entries, 1, 1000000, "N",
          "maximum number of files each worker caches (default: 1024)"),
    FILES("memory-file-size", SIZE, memory_file_size, 1, GIB, "SIZE",
          "largest file cached in memory; larger ones are sent by sendfile (default: 16K)"),
    FILES("revalidate-ms", MS, revalidate_ms, 1, 3600000, "MS",
          "milliseconds until a changed file is noticed (default: 1000, 10000 with --watch)"),
    FILES("precompressed", SWITCH, precompressed, 0, 0, NULL,
          "send FILE.br, FILE.zst or FILE.gz for FILE to clients that accept it"),
    FILES("compress", SWITCH, compress, 0, 0, NULL,
          "compress files on request and cache the result"),
    FILES("compress-min-size", SIZE, compress_min_size, 1, GIB, "SIZE",
          "smallest file compressed on request (default: 1K)"),
    FILES("compress-max-size", SIZE, compress_max_size, 1, GIB, "SIZE",
          "largest file compressed on request (default: 8M)"),
    FILES("gzip-level", NUMBER, gzip_level, 1, 9, "N",
          "gzip level of --compress, 1 to 9 (default: 5)"),
    FILES("brotli-level", NUMBER, brotli_level, 1, 11, "N",
          "brotli level of --compress, 1 to 11 (default: 4)"),
    FILES("zstd-level", NUMBER, zstd_level, 1, 19, "N",
          "zstd level of --compress, 1 to 19 (default: 3)"),
    FILES("watch", SWITCH, watch, 0, 0, NULL, "detect changed files within milliseconds (inotify)"),
    FILES("negative-ms", MS, negative_ms, 1, 3600000, "MS",
          "milliseconds for which a missing file is cached as missing (default: as "
          "--revalidate-ms, up to 1000)"),
    FILES("cache-descriptors", NUMBER, cache_descriptors, 1, 1000000, "N",
          "maximum number of files kept open (default: a quarter of the descriptor limit)"),
    SERVE_TEXT("prewarm", prewarm, "PATTERNS",
               "files to load before the first request, such as \"**/*.css /index.html\""),
    FILE_LIST("type", types, "EXT=TYPE",
              "type of files with this extension, such as md=text/markdown; repeatable"),
    FILES("default-type", TEXT, default_type, 0, 0, "TYPE",
          "type of files with an unknown extension (default: application/octet-stream)"),
    FILE_LIST("cache-control", cache_control, "[PATTERN=]VALUE",
              "Cache-Control of all files, such as 'max-age=3600', or of matching ones, such as "
              "'/img/**=max-age=3600'; repeatable, the last match wins"),
    FILE_LIST("download", downloads, "PATTERN",
              "save matching files in browsers instead of showing them (Content-Disposition: "
              "attachment); repeatable"),
    FILE_LIST("header", headers, "[PATTERN=]NAME: VALUE",
              "response field of all files, or of matching ones, such as "
              "'*.html=X-Robots-Tag: none'; repeatable, the last match wins"),
    FILES("immutable-assets", SWITCH, immutable_assets, 0, 0, NULL,
          "let clients cache files with a hash in their name (app-3f2a9c01.js) for a year, and "
          "revalidate HTML each time"),
    FILES("rate-limit", SIZE, rate_limit, 1, 1024 * GIB, "SIZE",
          "bytes per second of each response (default: no limit)"),
    FILES("rate-burst", SIZE, rate_burst, 1, 1024 * GIB, "SIZE",
          "bytes of a response before the limit applies (default and minimum: a quarter of a "
          "second)"),
    FILES("uploads", SWITCH, uploads, 0, 0, NULL, "accept uploads by PUT, and by POST from forms"),
    FILES("upload-max-size", SIZE, upload_max_size, 1, 1024 * 1024 * GIB, "SIZE",
          "largest body of an upload (default: 1G)"),
    FILES("upload-overwrite", SWITCH, upload_overwrite, 0, 0, NULL,
          "let an upload replace an existing file"),
    FILES("upload-directories", SWITCH, upload_directories, 0, 0, NULL,
          "create missing parent directories of an uploaded file"),
    FILES("upload-sync", SWITCH, upload_sync, 0, 0, NULL,
          "send the response to an upload after it is written to the disk (fsync)"),
    FILES("clean-urls", SWITCH, clean_urls, 0, 0, NULL,
          "serve about.html as /about, and redirect /about.html to it"),
    FILES("spa", SWITCH, spa, 0, 0, NULL,
          "send the index file for missing paths, for an application that routes in the browser"),
    FILES("fallback", TEXT, fallback, 0, 0, "FILE", "like --spa, with this file"),
    FILES("try-files", TEXT, try_files, 0, 0, "LIST",
          "candidates for a path, in order (default: \"{path} {path}/\")"),
    FILES("error-pages", TEXT, error_pages, 0, 0, "LIST",
          "pages for 401, 403, 404, 429, 500, 503 and the final status of --try-files, such as "
          "\"404=/404.html 5xx=/sorry.html\"; not for uploads"),
    SERVE_WORD("symlinks", files.symlinks, symlink_words, "POLICY",
               "allowed targets of symbolic links: inside (of the directory), all, none, or owner "
               "(files of the link's owner) (default: inside)"),
    FILE_LIST("more-root", more_roots, "DIRECTORY",
              "directory for files that DIR does not have; repeatable, the first that has the file "
              "is used"),
    FILE_LIST("alias", aliases, "/PATH/=DIRECTORY",
              "serve another directory below a path, or one file with /PATH=FILE; repeatable"),
    SERVE_TEXT("auth", auth, "FILE",
               "require a name and a password from FILE, with lines of uvhttp hash-password"),
    SERVE_TEXT("upload-auth", upload_auth, "FILE",
               "require a name and a password from FILE for uploads, instead of those of --auth"),

    FILE_LIST("cors", cors, "ORIGIN",
              "let web pages of this origin read files (CORS), such as https://app.example.com, "
              "or \"*\" for any; repeatable"),
    CHECKED("allow", LIST, allow, "ADDRESS", uvh_client_rules_check_address,
            "accept only clients with this address or prefix, such as 10.0.0.0/8, or unix; "
            "repeatable"),
    CHECKED("deny", LIST, deny, "ADDRESS", uvh_client_rules_check_address,
            "refuse clients with this address or prefix, before --allow; repeatable"),
    CHECKED("limit-requests", TEXT, limit_requests, "N/TIME", uvh_client_rules_check_limit,
            "requests of each client, such as 100/min; others get 429"),
    CHECKED("rewrite", LIST, rewrites, "PATH=TARGET", uvh_mapping_check,
            "serve another path instead, such as '/old/*=/new/{rest}'; repeatable"),
    CHECKED("redirect", LIST, redirects, "PATH=LOCATION", uvh_mapping_check,
            "redirect a path (302), such as '/old/*=/new/{rest}'; repeatable"),
    {.name = "metrics",
     .kind = UVH_OPTION_TEXT,
     .offset = FIELD(metrics),
     .value = "PATH",
     .preset = "/metrics",
     .help = "metrics for Prometheus at this path, /metrics without a value",
     .serve_only = true},
    {.name = "status",
     .kind = UVH_OPTION_TEXT,
     .offset = FIELD(status),
     .value = "PATH",
     .preset = "/status",
     .help = "live status page at this path, /status without a value",
     .serve_only = true},
    OPTION("health", 0, SWITCH, FIELD(health), 0, 0, NULL,
           "/healthz and /readyz for balancers, without a password; see --drain-delay"),

    GROUP("Limits"),
    CONFIG("workers", workers, NUMBER, "N"),
    CONFIG("max-connections", max_connections, NUMBER, "N"),
    CONFIG("max-requests-per-connection", max_requests_per_connection, NUMBER, "N"),
    CONFIG("max-connection-age", max_connection_age, NUMBER, "S"),
    CONFIG("http2", http2, SWITCH, NULL),
    CONFIG("http2-max-streams", http2_max_streams, NUMBER, "N"),
    CONFIG("http2-stream-window", http2_stream_window, SIZE, "SIZE"),
    CONFIG("http2-connection-window", http2_connection_window, SIZE, "SIZE"),
    CONFIG("http2-header-table", http2_header_table, SIZE, "SIZE"),
    CONFIG("http2-control-frames", http2_control_frames, NUMBER, "N"),
    CONFIG("http2-resets", http2_resets, NUMBER, "N"),
    CONFIG("http2-total-resets", http2_total_resets, NUMBER, "N"),
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
    CONFIG("overload-guard", overload_guard, SWITCH, NULL),
    CONFIG("overload-target-ms", overload_target_ms, NUMBER, "MS"),
    CONFIG("overload-interval-ms", overload_interval_ms, NUMBER, "MS"),
    CONFIG("stuck-loop-ms", stuck_loop_ms, NUMBER, "MS"),
    CONFIG("route-stats", route_stats, NUMBER, "N"),

    GROUP("Times, in seconds"),
    CONFIG("keep-alive-timeout", keep_alive_timeout, NUMBER, "S"),
    CONFIG("header-timeout", header_timeout, NUMBER, "S"),
    CONFIG("http2-ping-interval", http2_ping_interval, NUMBER, "S"),
    CONFIG("handshake-timeout", handshake_timeout, NUMBER, "S"),
    CONFIG("body-timeout", body_timeout, NUMBER, "S"),
    CONFIG("write-timeout", write_timeout, NUMBER, "S"),
    CONFIG("linger-timeout", linger_timeout, NUMBER, "S"),
    CONFIG("drain-delay", drain_delay, NUMBER, "S"),
    CONFIG("drain-timeout", drain_timeout, NUMBER, "S"),
    CONFIG("drain-grace", drain_grace, NUMBER, "S"),

    GROUP("Output"),
    OPTION("quiet", 'q', LEVEL, FIELD(log_level), UVHTTP_LOG_WARNING, 0, NULL,
           "print warnings and errors only"),
    OPTION("verbose", 'v', LEVEL, FIELD(log_level), UVHTTP_LOG_DEBUG, 0, NULL,
           "also print a line for every request: status, bytes, duration"),
    {.name = "access-log",
     .kind = UVH_OPTION_TEXT,
     .offset = FIELD(access_log),
     .value = "FILE",
     .preset = "-",
     .help = "append a line for every request to this file, to standard output without a value; "
             "syslog: and journal: send it there"},
};

const size_t uvh_option_count = sizeof(uvh_option_table) / sizeof(uvh_option_table[0]);

_Static_assert(sizeof(uvh_option_table) / sizeof(uvh_option_table[0]) <= UVH_OPTION_MAX,
               "options.c keeps a note for each row");

bool uvh_option_may_be_empty(const struct uvh_option *option)
{
    return option->offset == FIELD(files.index) || option->offset == FIELD(tls.keys);
}

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

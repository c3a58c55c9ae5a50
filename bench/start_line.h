/* How a benchmark server starts: says which build it is, warns when figures of it would mean
 * nothing, and listens until it is stopped. Included by each of them once; what is printed first is
 * what the harness reads (tools/benchlib/servers.py). UVH_FLAGS comes from the build. */
#ifndef UVH_BENCH_START_LINE_H
#define UVH_BENCH_START_LINE_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <uvhttp.h>
#include <uvhttp/parser.h>

/* A port as text; -1 when it is none. 0 takes a free one. */
static inline int parse_port(const char *text)
{
    char *end;
    errno = 0;
    long port = strtol(text, &end, 10);
    return errno != 0 || text[0] < '0' || text[0] > '9' || *end != '\0' || port > 65535 ? -1
                                                                                        : (int)port;
}

/* "NAME: uvhttp VERSION COMPILER BUILD-TYPE ALLOCATOR, flags FLAGS, parser BACKEND", and the
 * warning to standard error. */
static inline void print_build(const char *name)
{
    const char *build = uvhttp_build_info();
    printf("%s: uvhttp %s, flags %s, parser %s\n", name, build, UVH_FLAGS, uvhttp_parser_backend());
    fflush(stdout);
    if (strstr(build, " Release") == NULL)
        fprintf(stderr,
                "\n"
                "  ************************************************************************\n"
                "  WARNING: this %s is not a Release build.\n"
                "  Whatever is measured with it means nothing. Build it with:\n"
                "      ./dev build release\n"
                "  ************************************************************************\n\n",
                name);
}

/* Takes "--workers N" out of the arguments: the number of workers (0 and "auto": one for each
 * core), 1 without it, -1 when N is none. */
static inline int take_workers(int *argc, char **argv)
{
    int kept = 1, workers = 1;
    for (int i = 1; i < *argc; i++) {
        if (strcmp(argv[i], "--workers") != 0) {
            argv[kept++] = argv[i];
            continue;
        }
        const char *text = ++i < *argc ? argv[i] : "";
        /* any number that an int holds */
        workers = strcmp(text, "auto") == 0 ? 0 : parse_port(text);
        if (workers == 0)
            workers = (int)uvhttp_core_count();
    }
    *argc = kept;
    return workers <= UVHTTP_WORKERS_MAX ? workers : -1;
}

/* What "--tls FILE" names, a certificate with its key: run_server then serves HTTPS. */
static const char *tls_file;

/* Takes "--tls FILE" out of the arguments. */
static inline void take_tls(int *argc, char **argv)
{
    int kept = 1;
    for (int i = 1; i < *argc; i++) {
        if (strcmp(argv[i], "--tls") == 0 && i + 1 < *argc)
            tls_file = argv[++i];
        else
            argv[kept++] = argv[i];
    }
    *argc = kept;
}

/* Plain, or with the certificate, and the defaults of TLS. */
static inline int listen_locally(uvhttp_server_t *server, int port)
{
    if (tls_file == NULL)
        return uvhttp_server_listen(server, "127.0.0.1", port);
    const uvhttp_tls_certificate_t certificate = {.certificate_file = tls_file};
    uvhttp_error_t error = {0};
    uvhttp_tls_t *tls;
    int err = uvhttp_tls_new(
        &tls, &(uvhttp_tls_options_t){.certificates = &certificate, .certificate_count = 1},
        &error);
    if (err != 0) {
        fprintf(stderr, "%s\n", error.text);
        return err;
    }
    err = uvhttp_server_listen_tls(server, "127.0.0.1", port, tls);
    uvhttp_tls_free(tls);
    return err;
}

/* With the defaults but for the number of workers; NULL when memory ran out. */
static inline uvhttp_server_t *new_server_of(int workers)
{
    uvhttp_config_t *config = uvhttp_config_new();
    if (config == NULL)
        return NULL;
    config->workers = (size_t)workers;
    uvhttp_server_t *server = uvhttp_server_new_with(NULL, config);
    uvhttp_config_free(config);
    return server;
}

/* What each worker has done: `./dev bench workers` reads it. */
static inline void print_workers(uvhttp_server_t *server)
{
    uvhttp_stats_t stats;
    size_t count = uvhttp_server_worker_count(server);
    for (size_t i = 0; i < count && uvhttp_server_worker_stats(server, i, &stats) == 0; i++)
        printf("worker %zu: %llu connections, %llu requests\n", i,
               (unsigned long long)stats.total_connections,
               (unsigned long long)stats.total_requests);
}

/* Listens on the loopback address, prints where, and runs until SIGINT or SIGTERM. `err` is that of
 * the set-up so far; frees the server in every case. Returns the exit code. */
static inline int run_server(const char *name, uvhttp_server_t *server, int err, int port)
{
    const char *what = "cannot be set up";
    if (err == 0) {
        what = "cannot listen";
        err = listen_locally(server, port);
    }
    if (err == 0)
        err = uvhttp_server_stop_on_signals(server);
    if (err == 0) {
        printf("listening on http%s://127.0.0.1:%d/\n", tls_file != NULL ? "s" : "",
               uvhttp_server_port(server));
        fflush(stdout);
        what = "failed";
        err = uvhttp_server_run(server);
        print_workers(server);
    }
    uvhttp_server_free(server);
    if (err != 0)
        fprintf(stderr, "%s: %s on port %d: %s\n", name, what, port, uvhttp_strerror(err));
    return err != 0;
}

#endif

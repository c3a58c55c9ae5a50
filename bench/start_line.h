/* Shared by the benchmark servers: minimal handlers, arguments and start. A server prints its
 * build, warns unless it is a Release build, and serves until SIGINT or SIGTERM. Each server
 * includes this file once. tools/benchlib/servers.py reads the printed lines. The build defines
 * UVH_FLAGS. */
#ifndef UVH_BENCH_START_LINE_H
#define UVH_BENCH_START_LINE_H

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uvhttp.h>
#include <uvhttp/parser.h>

static const char hello[] = "Hello, world\n";

static inline int send_text(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request, (void)arg;
    return uvhttp_response_send_static(response, 200, "text/plain", hello, sizeof(hello) - 1);
}

static inline int send_json(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request, (void)arg;
    char json[64];
    snprintf(json, sizeof(json), "{\"message\":\"%.*s\"}", 12, hello);
    return uvhttp_response_send_json(response, 200, json);
}

/* The body lives as long as the exchange. */
static inline void release_nothing(void *arg)
{
    (void)arg;
}

static inline int send_back(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)arg;
    uvhttp_slice_t body = uvhttp_request_body(request);
    return uvhttp_response_send_borrowed(response, 200, "application/octet-stream", body.base,
                                         body.length, release_nothing, NULL);
}

/* The routes of benchmark_rps and benchmark_unified. */
static inline int add_plain_routes(uvhttp_server_t *server)
{
    int err = uvhttp_server_route(server, "GET", "/", send_text, NULL);
    if (err == 0)
        err = uvhttp_server_route(server, "GET", "/json", send_json, NULL);
    return err != 0 ? err : uvhttp_server_route(server, "POST", "/post", send_back, NULL);
}

/* Parses a port from 0 to 65535. Returns -1 for other texts. */
static inline int parse_port(const char *text)
{
    char *end;
    errno = 0;
    long port = strtol(text, &end, 10);
    return errno != 0 || text[0] < '0' || text[0] > '9' || *end != '\0' || port > 65535 ? -1
                                                                                        : (int)port;
}

/* Prints "NAME: uvhttp VERSION COMPILER BUILD-TYPE ALLOCATOR, flags FLAGS, parser BACKEND", and the
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
                "  Figures measured with it are meaningless. Build it with:\n"
                "      ./dev build release\n"
                "  ************************************************************************\n\n",
                name);
}

/* Removes "NAME VALUE" from the arguments. Returns the value, or NULL. */
static inline const char *take_option(const char *name, int *argc, char **argv)
{
    const char *value = NULL;
    int kept = 1;
    for (int i = 1; i < *argc; i++) {
        if (strcmp(argv[i], name) == 0 && i + 1 < *argc)
            value = argv[++i];
        else
            argv[kept++] = argv[i];
    }
    *argc = kept;
    return value;
}

/* Removes "--workers N" from the arguments. Returns the number of workers (0 and "auto": one for
 * each core), 1 without the option, or -1 if N is invalid. */
static inline int read_workers(int *argc, char **argv)
{
    const char *text = take_option("--workers", argc, argv);
    if (text == NULL)
        return 1;
    int workers = strcmp(text, "auto") == 0 ? 0 : parse_port(text);
    if (workers == 0)
        workers = (int)uvhttp_core_count();
    return workers <= UVHTTP_WORKERS_MAX ? workers : -1;
}

/* Reads the number of workers and the port (default: 18081). Prints the usage and returns false for
 * invalid arguments. */
static inline bool read_arguments(const char *name, const char *options, int argc, char **argv,
                                  int *workers, int *port)
{
    *workers = read_workers(&argc, argv);
    *port = argc > 1 ? parse_port(argv[1]) : 18081;
    if (*port >= 0 && *workers >= 0 && argc <= 2)
        return true;
    fprintf(stderr, "%s: %s\nusage: %s %s[--workers N] [PORT]\n", name,
            argc > 2       ? "too many arguments"
            : *workers < 0 ? "the number of workers is from 1 to 1024, or 0 or auto for one for "
                             "each core"
                           : "the port is a number from 0 to 65535",
            name, options);
    return false;
}

/* The file of "--tls FILE", a certificate with its key. If set, run_server serves HTTPS. */
static const char *tls_file;

/* Listens without TLS, or with the certificate and the defaults of TLS. */
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

/* A server with the defaults, except for the number of workers and, unless it is 0, of connections.
 * Returns NULL if memory ran out. */
static inline uvhttp_server_t *new_server(int workers, size_t max_connections)
{
    uvhttp_config_t *config = uvhttp_config_new();
    if (config == NULL)
        return NULL;
    config->workers = (size_t)workers;
    if (max_connections > 0)
        config->max_connections = max_connections;
    uvhttp_server_t *server = uvhttp_server_new_with(NULL, config);
    uvhttp_config_free(config);
    return server;
}

/* Prints the counts of each worker, which `./dev bench workers` reads. */
static inline void print_workers(uvhttp_server_t *server)
{
    uvhttp_stats_t stats;
    size_t count = uvhttp_server_worker_count(server);
    for (size_t i = 0; i < count && uvhttp_server_worker_stats(server, i, &stats) == 0; i++)
        printf("worker %zu: %llu connections, %llu requests\n", i,
               (unsigned long long)stats.total_connections,
               (unsigned long long)stats.total_requests);
}

/* Listens on the loopback address, prints the URL, and runs until SIGINT or SIGTERM. `err` is the
 * result of the set-up so far. Frees the server in every case. Returns the exit code. */
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

/* Shared by the benchmark servers: minimal handlers, arguments and start. A server prints its
 * build, warns unless it is a Release build, and serves until SIGINT or SIGTERM. Each server
 * includes this file once. tools/benchlib/servers.py reads the printed lines. The build defines
 * UVH_FLAGS. */
#ifndef UVH_BENCH_START_LINE_H
#define UVH_BENCH_START_LINE_H

#include <ctype.h>
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdnoreturn.h>

#include <uvhttp.h>
#include <uvhttp/parser.h>

#include "arguments.h"

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

/* The routes of benchmark_rps and benchmark_unified. run_server reports errors of set-up calls. */
static inline void add_plain_routes(uvhttp_server_t *server)
{
    uvhttp_server_route(server, "GET", "/", send_text, NULL);
    uvhttp_server_route(server, "GET", "/json", send_json, NULL);
    uvhttp_server_route(server, "POST", "/post", send_back, NULL);
}

/* Prints "NAME: uvhttp VERSION COMPILER BUILD-TYPE ALLOCATOR, flags FLAGS, parser BACKEND", and the
 * warning to standard error. */
static inline void print_build(void)
{
    const char *name = program_invocation_short_name, *build = uvhttp_build_info();
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

static const char *usage = "[--workers N] [PORT]";

static inline noreturn void fail_usage(const char *reason)
{
    errx(2, "%s\nusage: %s %s", reason, program_invocation_short_name, usage);
}

static inline int read_port(const char *text)
{
    char *end;
    unsigned long port = strtoul(text, &end, 10);
    if (!isdigit((unsigned char)text[0]) || *end != '\0' || port > 65535)
        fail_usage("the port is a number from 0 to 65535");
    return (int)port;
}

/* The default configuration, with the value of "--workers" (NULL: 1; 0 and "auto": one for each
 * core). */
static inline uvhttp_config_t *new_config(const char *workers)
{
    uvhttp_error_t error;
    uvhttp_config_t *config = uvhttp_config_new();
    if (config == NULL)
        errx(1, "out of memory");
    if (workers != NULL && uvhttp_config_set(config, "workers", workers, &error) != 0)
        fail_usage(error.text);
    return config;
}

/* Reads the number of workers and the port (default: 18081). */
static inline uvhttp_config_t *read_arguments(int argc, char **argv, int *port)
{
    const char *workers = take_option("--workers", &argc, argv);
    if (argc > 2)
        fail_usage("too many arguments");
    *port = argc == 2 ? read_port(argv[1]) : 18081;
    return new_config(workers);
}

/* Prints the build and creates a server. Frees the configuration. Returns NULL if memory ran out.
 */
static inline uvhttp_server_t *new_server(uvhttp_config_t *config)
{
    print_build();
    uvhttp_server_t *server = uvhttp_server_new_with(NULL, config);
    uvhttp_config_free(config);
    return server;
}

/* The file of "--tls FILE", a certificate with its key. If set, run_server serves HTTPS. */
static const char *tls_file;

/* Listens without TLS, or with the certificate and the defaults of TLS. */
static inline int listen_locally(uvhttp_server_t *server, int port)
{
    const uvhttp_tls_certificate_t certificate = {.certificate_file = tls_file};
    const uvhttp_tls_options_t options = {.certificates = &certificate, .certificate_count = 1};
    uvhttp_error_t error;
    uvhttp_tls_t *tls;
    if (tls_file == NULL)
        return uvhttp_server_listen(server, "127.0.0.1", port);
    int err = uvhttp_tls_new(&tls, &options, &error);
    if (err != 0) {
        warnx("%s", error.text);
        return err;
    }
    err = uvhttp_server_listen_tls(server, "127.0.0.1", port, tls);
    uvhttp_tls_free(tls);
    return err;
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

/* Listens on the loopback address, prints the URL, and runs until SIGINT or SIGTERM. After an error
 * of a set-up call it only prints that error. Frees the server. Returns the exit code. */
static inline int run_server(uvhttp_server_t *server, int port)
{
    const uvhttp_error_t *setup = uvhttp_server_first_error(server);
    int err = setup->code;
    if (err != 0) {
        warnx(setup->value[0] != '\0' ? "%s: %s" : "%s%s", setup->value, setup->reason);
    } else if ((err = listen_locally(server, port)) != 0 ||
               (err = uvhttp_server_stop_on_signals(server)) != 0) {
        warnx("cannot listen on port %d: %s", port, uvhttp_strerror(err));
    } else {
        printf("listening on http%s://127.0.0.1:%d/\n", tls_file != NULL ? "s" : "",
               uvhttp_server_port(server));
        fflush(stdout);
        err = uvhttp_server_run(server);
        print_workers(server);
        if (err != 0)
            warnx("failed: %s", uvhttp_strerror(err));
    }
    uvhttp_server_free(server);
    return err != 0;
}

#endif

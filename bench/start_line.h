/* How a benchmark server starts: says which build it is, warns when figures of it would mean nothing, and listens until it is
 * stopped. Included by each of them once; what is printed first is what the harness reads (tools/benchlib/servers.py). UVH_FLAGS comes
 * from the build. */
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
    return errno != 0 || text[0] < '0' || text[0] > '9' || *end != '\0' || port > 65535 ? -1 : (int)port;
}

/* "NAME: uvhttp VERSION COMPILER BUILD-TYPE ALLOCATOR, flags FLAGS, parser BACKEND", and the warning to standard error. */
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

/* Listens on the loopback address, prints where, and runs until SIGINT or SIGTERM. `err` is that of the set-up so far; frees the
 * server in every case. Returns the exit code. */
static inline int run_server(const char *name, uvhttp_server_t *server, int err, int port)
{
    const char *what = "cannot be set up";
    if (err == 0) {
        what = "cannot listen";
        err = uvhttp_server_listen(server, "127.0.0.1", port);
    }
    if (err == 0)
        err = uvhttp_server_stop_on_signals(server);
    if (err == 0) {
        printf("listening on http://127.0.0.1:%d/\n", uvhttp_server_port(server));
        fflush(stdout);
        what = "failed";
        err = uvhttp_server_run(server);
    }
    uvhttp_server_free(server);
    if (err != 0)
        fprintf(stderr, "%s: %s on port %d: %s\n", name, what, port, uvhttp_strerror(err));
    return err != 0;
}

#endif

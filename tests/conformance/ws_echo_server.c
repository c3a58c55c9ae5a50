/* An echo of messages for the fuzzing client of a conformance suite (`./dev conformance websocket
 * server`).
 *
 * Usage: ws_echo_server [--compression=not|shared|dedicated] [PORT]. Prints the URL it listens on;
 * runs until SIGTERM. */
#include "ws_echo.h"

int main(int argc, char **argv)
{
    uvhttp_websocket_options_t options = ws_echo_options();
    if (!ws_echo_parse_compression(&argc, &argv, &options)) {
        (void)fprintf(stderr, "ws_echo_server: %s?\n", argv[1]);
        return 2;
    }
    uvhttp_server_t *server = uvhttp_server_new(NULL);
    int err = uvhttp_websocket_route(server, "/", &options, NULL);
    if (err == 0)
        err = uvhttp_server_listen(server, "127.0.0.1",
                                   argc > 1 ? (int)strtol(argv[1], NULL, 10) : 0);
    if (err == 0)
        err = uvhttp_server_stop_on_signals(server);
    if (err == 0) {
        (void)printf("listening on ws://127.0.0.1:%d/\n", uvhttp_server_port(server));
        (void)fflush(stdout);
        err = uvhttp_server_run(server);
    }
    uvhttp_server_free(server);
    if (err != 0)
        (void)fprintf(stderr, "ws_echo_server: %s\n", uvhttp_strerror(err));
    return err != 0;
}

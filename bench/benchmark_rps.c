/* benchmark_rps [--workers N] [--tls FILE] [PORT]: a server with minimal handlers, the target of
 * `./dev bench`. Default port: 18081; 0 selects a free one. FILE has a certificate and its key, for
 * HTTPS.
 *
 *     GET  /      13 bytes from memory
 *     GET  /json  an object, generated for each request
 *     POST /post  the request body, up to 1 MB */
#include "start_line.h"

int main(int argc, char **argv)
{
    int port;
    usage = "[--tls FILE] [--workers N] [PORT]";
    tls_file = take_option("--tls", &argc, argv);
    uvhttp_server_t *server = new_server(read_arguments(argc, argv, &port));
    add_plain_routes(server);
    return run_server(server, port);
}

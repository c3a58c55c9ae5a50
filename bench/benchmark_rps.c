/* benchmark_rps [--workers N] [--tls FILE] [PORT]: what the library costs with the least possible
 * handler (default port 18081, 0 takes a free one; HTTPS with a FILE that holds a certificate and
 * its key). `./dev bench` measures it.
 *
 *     GET  /      13 bytes from memory
 *     GET  /json  an object, written anew for each request
 *     POST /post  the body that came, up to 1 MB */
#include "start_line.h"

int main(int argc, char **argv)
{
    int workers, port;
    take_tls(&argc, argv);
    if (!take_arguments("benchmark_rps", "[--tls FILE] ", argc, argv, &workers, &port))
        return 2;
    print_build("benchmark_rps");
    uvhttp_server_t *server = new_server_of(workers, 0);
    int err = server == NULL ? UVHTTP_ENOMEM : add_plain_routes(server);
    return run_server("benchmark_rps", server, err, port);
}

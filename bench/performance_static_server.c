/* performance_static_server -d DIR [-p PORT] [--workers N]: serves a folder with the defaults of
 * the library (default port 8080, 0 takes a free one). What static files cost a program that embeds
 * uvhttp; `uvhttp serve` is the one for daily use. */
#include <unistd.h>

#include "start_line.h"

static const char usage[] = "usage: performance_static_server -d DIR [-p PORT] [--workers N]\n";

static int refuse(const char *what)
{
    fprintf(stderr, "performance_static_server: %s\n%s", what, usage);
    return 2;
}

int main(int argc, char **argv)
{
    uvhttp_static_options_t config = {0};
    int port = 8080, option;
    int workers = take_workers(&argc, argv);
    while ((option = getopt(argc, argv, "d:p:")) != -1) {
        if (option == 'd')
            config.root = optarg;
        else if (option == 'p')
            port = parse_port(optarg);
        else {
            fputs(usage, stderr); /* getopt has said what is wrong */
            return 2;
        }
    }
    if (port < 0)
        return refuse("the port is a number from 0 to 65535");
    if (workers < 0)
        return refuse(
            "the number of workers is from 1 to 1024, or 0 or auto for one for each core");
    if (optind < argc)
        return refuse("too many arguments");
    if (config.root == NULL)
        return refuse("-d is missing: the folder to serve");
    print_build("performance_static_server");
    uvhttp_server_t *server = new_server_of(workers, 0);
    int err = uvhttp_static_mount(server, "/", &config, NULL);
    if (err != 0) {
        fprintf(stderr, "performance_static_server: %s: %s\n", config.root, uvhttp_strerror(err));
        uvhttp_server_free(server);
        return 1;
    }
    return run_server("performance_static_server", server, err, port);
}

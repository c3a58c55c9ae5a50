/* performance_static_server -d DIR [-p PORT] [--workers N]: serves a directory with the defaults of
 * the library. Default port: 8080; 0 selects a free one. It measures static files in a program that
 * embeds uvhttp; for daily use there is `uvhttp serve`. */
#include <unistd.h>

#include "start_line.h"

static const char usage[] = "usage: performance_static_server -d DIR [-p PORT] [--workers N]\n";

static int fail_usage(const char *reason)
{
    fprintf(stderr, "performance_static_server: %s\n%s", reason, usage);
    return 2;
}

int main(int argc, char **argv)
{
    uvhttp_static_options_t config = {0};
    int port = 8080, option;
    int workers = read_workers(&argc, argv);
    while ((option = getopt(argc, argv, "d:p:")) != -1) {
        if (option == 'd')
            config.root = optarg;
        else if (option == 'p')
            port = parse_port(optarg);
        else {
            fputs(usage, stderr); /* getopt has printed the error */
            return 2;
        }
    }
    if (port < 0)
        return fail_usage("the port is a number from 0 to 65535");
    if (workers < 0)
        return fail_usage(
            "the number of workers is from 1 to 1024, or 0 or auto for one for each core");
    if (optind < argc)
        return fail_usage("too many arguments");
    if (config.root == NULL)
        return fail_usage("-d is missing: the directory to serve");
    print_build("performance_static_server");
    uvhttp_server_t *server = new_server(workers, 0);
    int err = uvhttp_static_mount(server, "/", &config, NULL);
    if (err != 0) {
        fprintf(stderr, "performance_static_server: %s: %s\n", config.root, uvhttp_strerror(err));
        uvhttp_server_free(server);
        return 1;
    }
    return run_server("performance_static_server", server, err, port);
}

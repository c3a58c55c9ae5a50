/* performance_static_server -d DIR [-p PORT] [--workers N]: serves a directory with the defaults of
 * the library. Default port: 8080; 0 selects a free one. It measures static files in a program that
 * embeds uvhttp; for daily use there is `uvhttp serve`. */
#include <unistd.h>

#include "start_line.h"

int main(int argc, char **argv)
{
    uvhttp_static_options_t options = {0};
    int port = 8080, option;
    usage = "-d DIR [-p PORT] [--workers N]";
    const char *workers = take_option("--workers", &argc, argv);
    while ((option = getopt(argc, argv, "d:p:")) != -1) {
        if (option == 'd')
            options.root = optarg;
        else if (option == 'p')
            port = read_port(optarg);
        else
            fail_usage("invalid arguments"); /* getopt has printed the error */
    }
    if (optind < argc)
        fail_usage("too many arguments");
    if (options.root == NULL)
        fail_usage("-d is missing: the directory to serve");
    uvhttp_server_t *server = new_server(new_config(workers));
    uvhttp_static_mount(server, "/", &options, NULL);
    return run_server(server, port);
}

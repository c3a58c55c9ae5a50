/* The end of a main function, see uvhttp/server.h. */
#include <stdio.h>
#include <string.h>

#include "route/router.h"
#include "server/server.h"

/* A browser on this machine can open it. Without a port there is no URL. */
static void print_url(const uvhttp_server_t *server, const char *address)
{
    static const char *const all[] = {"*", "0.0.0.0", "::"};
    int port = uvhttp_server_port(server);
    if (address == NULL)
        address = "localhost";
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        address = strcmp(address, all[i]) == 0 ? "localhost" : address;
    if (port == 0)
        printf("listening\n");
    else if (strchr(address, ':') == NULL)
        printf("listening on http://%s:%d/\n", address, port);
    else
        printf("listening on http://[%s]:%d/\n", address, port);
    fflush(stdout);
}

static void run(uvhttp_server_t *view, const char *address, int port)
{
    struct uvh_server *server = uvh_server_of(view);
    const uvhttp_error_t *first = uvh_router_first_error(server->router);
    if (first->code == 0 && address != NULL)
        (void)uvhttp_server_listen(view, address, port);
    if (first->code == 0)
        (void)uvhttp_server_stop_on_signals(view);
    if (first->code == 0 && server->life != UVH_SERVER_NEW)
        print_url(view, address);
    if (first->code == 0)
        (void)uvhttp_server_run(view);
}

int uvhttp_server_main(uvhttp_server_t *server, const char *address, int port)
{
    const uvhttp_error_t *error = uvhttp_server_error(server);
    if (server != NULL) {
        run(server, address, port);
        error = uvh_router_first_error(uvh_server_of(server)->router);
    }
    int status = error->code == 0 ? 0 : 1;
    if (status != 0)
        fprintf(stderr, "%s\n", error->text);
    uvhttp_server_free(server);
    return status;
}

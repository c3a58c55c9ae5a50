/* The end of a main function, see uvhttp/server.h. */
#include <stdio.h>
#include <string.h>

#include "platform/socket.h"
#include "server/server.h"

/* Paths may contain control characters, which a terminal would interpret. */
static void print_path(const char *path)
{
    printf("listening on ");
    for (const char *c = path; *c != '\0'; c++)
        putchar((unsigned char)*c < 0x20 || *c == 0x7f ? '?' : *c);
    putchar('\n');
}

/* A browser on this machine can open it. */
static void print_url(const struct uvh_listener *listener)
{
    char name[UVH_SOCKET_NAME_TEXT];
    int port = uvh_socket_port(listener->socket);
    uvh_socket_name(listener->socket, name);
    if (port <= 0) { /* a unix socket */
        print_path(name);
        return;
    }
    bool any = strcmp(name, "0.0.0.0") == 0 || strcmp(name, "::") == 0;
    bool v6 = !any && strchr(name, ':') != NULL;
    printf("listening on %s://%s%s%s:%d/\n", listener->data == NULL ? "http" : "https",
           v6 ? "[" : "", any ? "localhost" : name, v6 ? "]" : "", port);
}

/* The first worker has a listener for each address. */
static void print_urls(const struct uvh_server *server)
{
    const struct uvh_list *listeners = &server->workers[0].listeners;
    for (const struct uvh_list *link = listeners->next; link != listeners; link = link->next)
        print_url(UVH_CONTAINER_OF(link, struct uvh_listener, link));
    fflush(stdout);
}

static void run(uvhttp_server_t *view, const char *address, int port)
{
    struct uvh_server *server = uvh_server_of(view);
    const uvhttp_error_t *first = uvhttp_server_first_error(view);
    if (first->code == 0 && address != NULL)
        (void)uvhttp_server_listen(view, address, port);
    if (first->code == 0)
        (void)uvhttp_server_stop_on_signals(view);
    if (first->code == 0 && server->life != UVH_SERVER_NEW)
        print_urls(server);
    if (first->code == 0)
        (void)uvhttp_server_run(view);
}

int uvhttp_server_main(uvhttp_server_t *server, const char *address, int port)
{
    const uvhttp_error_t *error = uvhttp_server_first_error(server);
    if (server != NULL)
        run(server, address, port);
    int status = error->code == 0 ? 0 : 1;
    if (status != 0)
        fprintf(stderr, "%s\n", error->text);
    uvhttp_server_free(server);
    return status;
}

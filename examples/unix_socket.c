/* Serves on a Unix socket, for programs on the same machine, with file permissions instead of a
 * public port. When systemd starts it with a socket unit, it uses that socket. Each connection
 * counts its requests.
 *
 *     curl --unix-socket /tmp/uvhttp.sock http://localhost/
 *
 * Usage: unix_socket [PATH] */
#include <stdlib.h>

#include <uvhttp.h>

/* The counter is attached to the connection and lives as long as it does. */
static int count_requests(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    unsigned *requests = uvhttp_request_connection_data(req);
    if (requests == NULL) {
        requests = calloc(1, sizeof(*requests));
        int err = requests == NULL ? UVHTTP_ENOMEM
                                   : uvhttp_request_set_connection_data(req, requests, free);
        if (err != 0) {
            free(requests);
            return err; /* the client gets 503 */
        }
    }
    char text[128];
    snprintf(text, sizeof(text), "Hello, %s connection %llu, request %u\n",
             uvhttp_request_client_address(req),
             (unsigned long long)uvhttp_request_connection_id(req), ++*requests);
    return uvhttp_response_send_text(res, 200, text);
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "/tmp/uvhttp.sock";
    size_t inherited = 0;
    uvhttp_config_t *config = uvhttp_config_new();
    if (config == NULL)
        return 1;
    config->log = uvhttp_log_to_stderr; /* logs why listening fails */
    config->log_level = UVHTTP_LOG_WARNING;
    uvhttp_server_t *server = uvhttp_server_new_with(NULL, config);
    uvhttp_config_free(config);

    int err = uvhttp_server_route(server, "GET", "/", count_requests, NULL);
    if (err == 0)
        err = uvhttp_server_listen_inherited(server, &inherited);
    if (err == 0 && inherited == 0)
        err = uvhttp_server_listen_unix(server, path, 0660); /* access for user and group */
    if (err == 0)
        err = uvhttp_server_stop_on_signals(server);
    if (err == 0) {
        printf("listening on %s\n", inherited == 0 ? path : "the socket it was started with");
        fflush(stdout);
        err = uvhttp_server_run(server);
    }
    uvhttp_server_free(server); /* removes the socket file */
    if (err)
        fprintf(stderr, "%s\n", uvhttp_strerror(err));
    return err != 0;
}

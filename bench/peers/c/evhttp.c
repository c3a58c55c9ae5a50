/* evhttp SITE THREADS: the server on libevent's evhttp that `./dev bench http` compares with. One
 * thread, since evhttp has no more; answers from memory by reference, files by evbuffer_add_file
 * (sendfile). */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <netinet/in.h>

static const char text[] = "Hello, world\n";
static int site;

static void set_type(struct evhttp_request *request, const char *type)
{
    evhttp_add_header(evhttp_request_get_output_headers(request), "Content-Type", type);
}

static void answer_memory(struct evhttp_request *request, void *arg)
{
    (void)arg;
    set_type(request, "text/plain");
    evbuffer_add_reference(evhttp_request_get_output_buffer(request), text, sizeof(text) - 1, NULL,
                           NULL);
    evhttp_send_reply(request, 200, "OK", NULL);
}

static void answer_json(struct evhttp_request *request, void *arg)
{
    (void)arg;
    set_type(request, "application/json");
    evbuffer_add_printf(evhttp_request_get_output_buffer(request), "{\"message\":\"%s\"}",
                        "Hello, world");
    evhttp_send_reply(request, 200, "OK", NULL);
}

static void answer_echo(struct evhttp_request *request, void *arg)
{
    (void)arg;
    set_type(request, "application/octet-stream");
    evbuffer_add_buffer(evhttp_request_get_output_buffer(request),
                        evhttp_request_get_input_buffer(request));
    evhttp_send_reply(request, 200, "OK", NULL);
}

static void answer_file(struct evhttp_request *request, void *arg)
{
    (void)arg;
    struct stat status;
    const char *path = evhttp_request_get_uri(request);
    int file = strstr(path, "..") != NULL ? -1 : openat(site, path + 1, O_RDONLY | O_CLOEXEC);
    if (file < 0 || fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
        if (file >= 0)
            close(file);
        evhttp_send_error(request, 404, NULL);
        return;
    }
    set_type(request, "text/plain");
    evbuffer_add_file(evhttp_request_get_output_buffer(request), file, 0, status.st_size);
    evhttp_send_reply(request, 200, "OK", NULL);
}

int main(int argc, char **argv)
{
    if (argc != 3 || (site = open(argv[1], O_RDONLY | O_DIRECTORY)) < 0) {
        fputs("usage: evhttp SITE THREADS\n", stderr);
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    struct event_base *base = event_base_new();
    struct evhttp *http = evhttp_new(base);
    evhttp_set_allowed_methods(http, EVHTTP_REQ_GET | EVHTTP_REQ_POST);
    evhttp_set_cb(http, "/memory", answer_memory, NULL);
    evhttp_set_cb(http, "/json", answer_json, NULL);
    evhttp_set_cb(http, "/echo", answer_echo, NULL);
    evhttp_set_gencb(http, answer_file, NULL);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct evconnlistener *listener =
        evconnlistener_new_bind(base, NULL, NULL, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_REUSEABLE, 4096,
                                (struct sockaddr *)&address, sizeof(address));
    socklen_t size = sizeof(address);
    if (listener == NULL || evhttp_bind_listener(http, listener) == NULL ||
        getsockname(evconnlistener_get_fd(listener), (struct sockaddr *)&address, &size) != 0) {
        perror("evhttp: cannot listen");
        return 1;
    }
    printf("listening on http://127.0.0.1:%d/\n", ntohs(address.sin_port));
    fflush(stdout);
    event_base_dispatch(base);
    return 0;
}

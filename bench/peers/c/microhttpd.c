/* microhttpd SITE: a server on libmicrohttpd, for `./dev bench http`. It has the fastest
 * configuration of the library's manual: internal epoll threads, MHD_USE_TURBO, one shared response
 * object from memory, files by descriptor. */
#include <fcntl.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <netinet/in.h>

#define CONNECTIONS 8192

struct upload {
    char *bytes;
    size_t size, capacity;
};

static int site;
static struct MHD_Response *memory, *missing;
static char seen; /* marks a request without a body after its first call */

static enum MHD_Result queue_once(struct MHD_Connection *connection, struct MHD_Response *response)
{
    enum MHD_Result result = MHD_queue_response(connection, 200, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result send_json(struct MHD_Connection *connection)
{
    char json[64];
    int size = snprintf(json, sizeof(json), "{\"message\":\"%s\"}", "Hello, world");
    struct MHD_Response *response =
        MHD_create_response_from_buffer((size_t)size, json, MHD_RESPMEM_MUST_COPY);
    MHD_add_response_header(response, "Content-Type", "application/json");
    return queue_once(connection, response);
}

static enum MHD_Result send_file(struct MHD_Connection *connection, const char *path)
{
    struct stat status;
    int file = strstr(path, "..") != NULL ? -1 : openat(site, path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
        if (file >= 0)
            close(file);
        return MHD_queue_response(connection, 404, missing);
    }
    struct MHD_Response *response = MHD_create_response_from_fd64((uint64_t)status.st_size, file);
    MHD_add_response_header(response, "Content-Type", "text/plain");
    return queue_once(connection, response);
}

static enum MHD_Result echo(struct MHD_Connection *connection, const char *bytes, size_t *size,
                            void **state)
{
    struct upload *upload = *state;
    if (upload == NULL) {
        *state = calloc(1, sizeof(*upload));
        return *state != NULL ? MHD_YES : MHD_NO;
    }
    if (*size > 0) {
        if (upload->size + *size > upload->capacity) {
            upload->capacity = 2 * (upload->size + *size);
            upload->bytes = realloc(upload->bytes, upload->capacity);
            if (upload->bytes == NULL)
                abort();
        }
        memcpy(upload->bytes + upload->size, bytes, *size);
        upload->size += *size;
        *size = 0;
        return MHD_YES;
    }
    struct MHD_Response *response =
        MHD_create_response_from_buffer(upload->size, upload->bytes, MHD_RESPMEM_MUST_FREE);
    upload->bytes = NULL;
    return queue_once(connection, response);
}

static enum MHD_Result handle_request(void *arg, struct MHD_Connection *connection, const char *url,
                                      const char *method, const char *version, const char *bytes,
                                      size_t *size, void **state)
{
    (void)arg, (void)version;
    if (strcmp(method, "POST") == 0)
        return echo(connection, bytes, size, state);
    /* The first call has the head only. A response in it would close the connection. */
    if (*state == NULL) {
        *state = &seen;
        return MHD_YES;
    }
    if (strcmp(url, "/memory") == 0)
        return MHD_queue_response(connection, 200, memory);
    if (strcmp(url, "/json") == 0)
        return send_json(connection);
    return send_file(connection, url + 1);
}

static void free_upload(void *arg, struct MHD_Connection *connection, void **state,
                        enum MHD_RequestTerminationCode code)
{
    (void)arg, (void)connection, (void)code;
    struct upload *upload = *state;
    if (upload == NULL || *state == (void *)&seen)
        return;
    free(upload->bytes);
    free(upload);
}

int main(int argc, char **argv)
{
    static char text[] = "Hello, world\n";
    if (argc != 2 || (site = open(argv[1], O_RDONLY | O_DIRECTORY)) < 0) {
        fputs("usage: microhttpd SITE\n", stderr);
        return 2;
    }
    memory = MHD_create_response_from_buffer(sizeof(text) - 1, text, MHD_RESPMEM_PERSISTENT);
    missing = MHD_create_response_from_buffer(0, text, MHD_RESPMEM_PERSISTENT);
    MHD_add_response_header(memory, "Content-Type", "text/plain");
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct MHD_Daemon *daemon = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_TURBO, 0, NULL, NULL, handle_request, NULL,
        MHD_OPTION_SOCK_ADDR, &address, MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS,
        MHD_OPTION_LISTEN_BACKLOG_SIZE, 4096u, MHD_OPTION_CONNECTION_TIMEOUT, 75u,
        MHD_OPTION_NOTIFY_COMPLETED, free_upload, NULL, MHD_OPTION_END);
    if (daemon == NULL) {
        perror("microhttpd: cannot listen");
        return 1;
    }
    printf("listening on http://127.0.0.1:%d/\n",
           MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT)->port);
    fflush(stdout);
    for (;;)
        pause(); /* until a signal */
}

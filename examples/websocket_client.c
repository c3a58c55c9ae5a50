/* A WebSocket client: sends the lines of standard input as messages, and prints the messages it
 * receives.
 *
 *     printf 'hello\n' | build/release/dist/bin/websocket_client ws://127.0.0.1:8080/echo
 *
 * Usage: websocket_client [--ca FILE] URL
 *
 * URL begins with ws:// or wss://. --ca: certificate authorities to trust (PEM) instead of the
 * system's.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#include <uvhttp.h>
#include <uvhttp/websocket.h>

static uvhttp_websocket_t *connection; /* NULL after it is closed; only the loop's thread uses it */
static pthread_t reader;
static bool reading, incomplete;
static int result = 1;

/* Lines that may be read ahead. They fit into max_queue_size beside the queued data. When a message
 * is queued, reading pauses until `drain`. */
enum { LINE_SIZE_MAX = 65536, AHEAD = 8 };
static sem_t may_read;
static int held_back; /* permits of AHEAD that wait for `drain` */

static void on_drain(uvhttp_websocket_t *ws, void *arg)
{
    for (; held_back > 0; held_back--)
        sem_post(&may_read);
}

/* Runs on the loop's thread. `arg` is a line, or NULL at the end. */
static void send_line(uvhttp_server_t *server, size_t worker, void *arg)
{
    char *line = arg;
    int err = 0;
    if (connection != NULL && line != NULL)
        err = uvhttp_websocket_send_text(connection, line);
    else if (connection != NULL)
        uvhttp_websocket_close(connection, UVHTTP_WEBSOCKET_NORMAL, NULL);
    if (err == UVHTTP_QUEUED)
        held_back++;
    else
        sem_post(&may_read);
    if (err == UVHTTP_EINVAL) {
        incomplete = true;
        fprintf(stderr, "not sent, it is no UTF-8: %s\n", line);
    }
    free(line);
}

static void drop_line(char *line)
{
    free(line);
    fputs("a line is lost: out of memory\n", stderr);
    sem_post(&may_read);
}

/* Reads standard input on a thread of its own, because the loop must not block. The thread can be
 * cancelled only while it waits for input. */
static void *read_lines(void *arg)
{
    char line[LINE_SIZE_MAX];
    while (sem_wait(&may_read) == 0 && fgets(line, sizeof(line), stdin) != NULL) {
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
        line[strcspn(line, "\n")] = '\0';
        char *copy = strdup(line);
        if (copy == NULL || uvhttp_server_post(arg, 0, send_line, copy) != 0)
            drop_line(copy);
        pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    }
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    (void)uvhttp_server_post(arg, 0, send_line, NULL);
    return NULL;
}

static void on_open(uvhttp_websocket_t *ws, void *arg)
{
    connection = ws;
    reading = pthread_create(&reader, NULL, read_lines, arg) == 0;
}

static void print_message(uvhttp_websocket_t *ws, uvhttp_websocket_kind_t kind, const char *data,
                          size_t size, void *arg)
{
    fwrite(data, 1, size, stdout);
    putchar('\n');
    fflush(stdout);
}

static void on_close(uvhttp_websocket_t *ws, unsigned code, const char *reason, void *arg)
{
    connection = NULL;
    result = code != UVHTTP_WEBSOCKET_NORMAL || incomplete;
    if (code != UVHTTP_WEBSOCKET_NORMAL)
        fprintf(stderr, "closed with %u %s\n", code, reason);
    uvhttp_server_stop(arg);
}

int main(int argc, char **argv)
{
    uvhttp_server_t *server = uvhttp_server_new(NULL);
    uvhttp_websocket_options_t options = {
        .events = {.open = on_open, .message = print_message, .drain = on_drain, .close = on_close},
        .arg = server};
    uvhttp_error_t error = {0};
    uvhttp_websocket_target_t target = {.url = "ws://127.0.0.1:8080/echo"};
    uvhttp_websocket_endpoint_t *endpoint;
    int first = 1, err = 0;
    sem_init(&may_read, 0, AHEAD);
    if (argc > 2 && strcmp(argv[1], "--ca") == 0) {
        uvhttp_tls_client_options_t trusted = {.ca_file = argv[2]};
        err = uvhttp_tls_client_new(&target.tls, &trusted, &error);
        first = 3;
    }
    if (first < argc)
        target.url = argv[first];
    if (err == 0)
        err = uvhttp_websocket_endpoint_new(&endpoint, server, &options, &error);
    if (err == 0)
        err = uvhttp_websocket_connect(endpoint, &target, NULL, NULL, &error);
    if (err == 0)
        err = uvhttp_server_run(server);
    if (err != 0) {
        fprintf(stderr, "%s\n", error.text[0] != '\0' ? error.text : uvhttp_strerror(err));
        result = 1;
    }
    if (reading && pthread_cancel(reader) == 0)
        pthread_join(reader, NULL);
    uvhttp_server_free(server);
    uvhttp_tls_client_free(target.tls);
    return result;
}

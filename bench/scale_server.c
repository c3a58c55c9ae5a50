/* scale_server [--routes N] [--body BYTES] [--max-connections N] [--workers N] [PORT]: the server
 * of `./dev bench scale`, whose size the arguments choose. "/" answers a body from memory (default
 * 13 bytes), and N routes "/routes/NUMBER/:id" answer 13 bytes. Idle connections stay open for a
 * day, so that none goes while others are measured. */
#include "start_line.h"

#define DAY_SECONDS 86400
#define NUMBER_MOST (1ull << 30)

static const char text[] = "Hello, world\n";

struct body {
    char *bytes;
    size_t size;
};

struct options {
    size_t routes, body_size, max_connections;
    int workers;
    int port;
};

static int answer_body(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    const struct body *body = arg;
    (void)request;
    return uvhttp_response_send_static(response, 200, "text/plain", body->bytes, body->size);
}

static int answer_route(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    return uvhttp_response_send_static(response, 200, "text/plain", text, sizeof(text) - 1);
}

static int parse_number(const char *word, size_t *number)
{
    char *end;
    unsigned long long value = strtoull(word, &end, 10);
    if (*word < '0' || *word > '9' || *end != '\0' || value > NUMBER_MOST)
        return -1;
    *number = (size_t)value;
    return 0;
}

static size_t *find_option(struct options *options, const char *word)
{
    if (strcmp(word, "--routes") == 0)
        return &options->routes;
    if (strcmp(word, "--body") == 0)
        return &options->body_size;
    return strcmp(word, "--max-connections") == 0 ? &options->max_connections : NULL;
}

static int parse_options(int argc, char **argv, struct options *options)
{
    *options =
        (struct options){.body_size = sizeof(text) - 1, .max_connections = 100000, .port = 18082};
    options->workers = take_workers(&argc, argv);
    for (int i = 1; i < argc; i++) {
        size_t *number = find_option(options, argv[i]);
        if (number == NULL) {
            options->port = parse_port(argv[i]);
            if (options->port < 0)
                return -1;
        } else if (++i == argc || parse_number(argv[i], number) != 0) {
            return -1;
        }
    }
    return options->workers < 0 ? -1 : 0;
}

static int fill_body(struct body *body, size_t size)
{
    body->size = size;
    body->bytes = malloc(size > 0 ? size : 1);
    if (body->bytes == NULL)
        return UVHTTP_ENOMEM;
    for (size_t i = 0; i < size; i++)
        body->bytes[i] = text[i % (sizeof(text) - 1)];
    return 0;
}

static uvhttp_server_t *new_server(const struct options *options)
{
    uvhttp_config_t *config = uvhttp_config_new();
    if (config == NULL)
        return NULL;
    config->max_connections = options->max_connections;
    config->workers = (size_t)options->workers;
    config->keep_alive_timeout = DAY_SECONDS;
    uvhttp_server_t *server = uvhttp_server_new_with(NULL, config);
    uvhttp_config_free(config);
    return server;
}

static int add_routes(uvhttp_server_t *server, size_t count, struct body *body)
{
    int err = uvhttp_server_route(server, "GET", "/", answer_body, body);
    for (size_t i = 0; err == 0 && i < count; i++) {
        char pattern[64];
        snprintf(pattern, sizeof(pattern), "/routes/%zu/:id", i);
        err = uvhttp_server_route(server, "GET", pattern, answer_route, NULL);
    }
    return err;
}

int main(int argc, char **argv)
{
    struct options options;
    struct body body = {0};
    if (parse_options(argc, argv, &options) != 0) {
        fputs("usage: scale_server [--routes N] [--body BYTES] [--max-connections N] [--workers N] "
              "[PORT]\n",
              stderr);
        return 2;
    }
    print_build("scale_server");
    uvhttp_server_t *server = new_server(&options);
    int err = server == NULL ? UVHTTP_ENOMEM : fill_body(&body, options.body_size);
    if (err == 0)
        err = add_routes(server, options.routes, &body);
    err = run_server("scale_server", server, err, options.port);
    free(body.bytes);
    return err;
}

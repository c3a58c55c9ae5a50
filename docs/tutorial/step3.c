/* Step 3 of the tutorial: queries, forms and JSON. */
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>
#include <uvhttp.h>

static int search(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    const char *words = uvhttp_request_query(req, "q");   /* decoded; NULL if it is missing */
    const char *page = uvhttp_request_query(req, "page"); /* "" for a name without a value */
    char text[300];
    if (words == NULL)
        return uvhttp_response_send_text(res, 400, "q is missing: /search?q=WORDS\n");
    snprintf(text, sizeof text, "searching for '%.200s', page %.10s\n", words,
             page != NULL ? page : "1");
    return uvhttp_response_send_text(res, 200, text);
}

static int add_guest(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    const char *name = uvhttp_request_form(req, "name");
    char text[300];
    if (name == NULL)
        return uvhttp_response_send_text(res, 422, "a form with a field 'name', please\n");
    snprintf(text, sizeof text, "welcome, %.200s\n", name);
    return uvhttp_response_send_text(res, 200, text);
}

static int add_up(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    cJSON *sent = cJSON_ParseWithOpts(uvhttp_request_body_text(req), NULL, true);
    const cJSON *numbers = cJSON_GetObjectItemCaseSensitive(sent, "numbers"), *number;
    double sum = 0;
    bool good = cJSON_IsArray(numbers);
    cJSON_ArrayForEach(number, numbers)
    {
        good = good && cJSON_IsNumber(number);
        sum += good ? number->valuedouble : 0;
    }
    cJSON_Delete(sent);

    char text[64];
    if (!good)
        return uvhttp_response_send_json(res, 422,
                                         "{\"error\":\"send {\\\"numbers\\\":[...]}\"}\n");
    snprintf(text, sizeof text, "{\"sum\":%g}\n", sum);
    return uvhttp_response_send_json(res, 200, text);
}

static int add_routes(uvhttp_server_t *server)
{
    int err = uvhttp_server_route(server, "GET", "/search", search, NULL);
    if (err == 0)
        err = uvhttp_server_route(server, "POST", "/guests", add_guest, NULL);
    if (err == 0)
        err = uvhttp_server_route(server, "POST", "/sum", add_up, NULL);
    return err;
}

int main(int argc, char **argv)
{
    int port = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 8080;
    uvhttp_server_t *server = uvhttp_server_new(NULL);
    int err = add_routes(server);
    if (err == 0)
        err = uvhttp_server_listen(server, "127.0.0.1", port);
    if (err == 0)
        err = uvhttp_server_stop_on_signals(server);
    if (err == 0) {
        printf("listening on http://127.0.0.1:%d/\n", uvhttp_server_port(server));
        fflush(stdout);
        err = uvhttp_server_run(server);
    }
    if (err)
        fprintf(stderr, "%s\n", uvhttp_server_error(server)->text);
    uvhttp_server_free(server);
    return err != 0;
}

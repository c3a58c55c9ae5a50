/* A JSON API for notes, kept in memory. cJSON parses and writes them (Debian: libcjson-dev); uvhttp
 * itself has no JSON functions.
 *
 *     curl -H "Content-Type: application/json" -d '{"title":"Milk"}' http://127.0.0.1:8080/notes
 *     curl http://127.0.0.1:8080/notes
 *     curl http://127.0.0.1:8080/notes/1
 *
 * Usage: json_api [PORT] */
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>
#include <uvhttp.h>

/* An array of {"id", "title"}. Handlers run on one thread, so it needs no lock. */
static cJSON *notes;
static int last_id;

static int send_json(uvhttp_response_t *res, int status, const cJSON *value)
{
    char *text = cJSON_PrintUnformatted(value);
    int err = text == NULL ? UVHTTP_ENOMEM : uvhttp_response_send_json(res, status, text);
    cJSON_free(text);
    return err;
}

static int send_error(uvhttp_response_t *res, int status, const char *message)
{
    char text[128];
    snprintf(text, sizeof text, "{\"error\":\"%s\"}", message); /* `message` needs no escapes */
    return uvhttp_response_send_json(res, status, text);
}

static int list_notes(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    return send_json(res, 200, notes);
}

static int show_note(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    char *end;
    long id = strtol(uvhttp_request_param(req, "id"), &end, 10);
    const cJSON *note;
    cJSON_ArrayForEach(note, notes)
    {
        if (*end == '\0' && cJSON_GetObjectItem(note, "id")->valueint == id)
            return send_json(res, 200, note);
    }
    return send_error(res, 404, "no such note");
}

static int store(uvhttp_response_t *res, const char *title)
{
    char location[32];
    cJSON *note = cJSON_CreateObject();
    if (cJSON_AddNumberToObject(note, "id", last_id + 1) == NULL ||
        cJSON_AddStringToObject(note, "title", title) == NULL) {
        cJSON_Delete(note);
        return UVHTTP_ENOMEM; /* the client gets 503 */
    }
    cJSON_AddItemToArray(notes, note);
    snprintf(location, sizeof location, "/notes/%d", ++last_id);
    int err = uvhttp_response_set_header(res, "Location", location);
    return err != 0 ? err : send_json(res, 201, note);
}

/* NULL unless the body is one JSON value: cJSON_ParseWithLength accepts any text after it. */
static cJSON *parse_json(uvhttp_slice_t body)
{
    const char *end = NULL;
    cJSON *value = cJSON_ParseWithLengthOpts(body.base, body.length, &end, false);
    while (value != NULL && end < body.base + body.length && memchr(" \t\r\n", *end, 4) != NULL)
        end++;
    if (value != NULL && end == body.base + body.length)
        return value;
    cJSON_Delete(value);
    return NULL;
}

/* Validates the request and copies only known fields. */
static int add_note(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    uvhttp_slice_t body = uvhttp_request_body(req); /* larger than max_body_size: 413 */
    uvhttp_slice_t type = uvhttp_request_field(req, UVHTTP_FIELD_CONTENT_TYPE);
    if (!uvhttp_media_type_is(type, "application/json"))
        return send_error(res, 415, "send application/json");
    cJSON *parsed = parse_json(body);
    const cJSON *title = cJSON_GetObjectItemCaseSensitive(parsed, "title");
    int err = parsed == NULL           ? send_error(res, 400, "this is no JSON")
              : !cJSON_IsString(title) ? send_error(res, 422, "title is not a text")
                                       : store(res, title->valuestring);
    cJSON_Delete(parsed);
    return err;
}

int main(int argc, char **argv)
{
    int port = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 8080;
    uvhttp_server_t *server = uvhttp_server_new(NULL);
    notes = cJSON_CreateArray();
    int err = notes == NULL ? UVHTTP_ENOMEM
                            : uvhttp_server_route(server, "GET", "/notes", list_notes, NULL);
    if (err == 0)
        err = uvhttp_server_route(server, "POST", "/notes", add_note, NULL);
    if (err == 0)
        err = uvhttp_server_route(server, "GET", "/notes/:id", show_note, NULL);
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
    cJSON_Delete(notes);
    return err != 0;
}

/* A JSON API for notes, kept in memory. cJSON parses and writes them (Debian: libcjson-dev); uvhttp
 * itself has no JSON functions.
 *
 *     curl -H "Content-Type: application/json" -d '{"title":"Milk"}' http://127.0.0.1:8080/notes
 *     curl http://127.0.0.1:8080/notes
 *     curl http://127.0.0.1:8080/notes/1
 *
 * Usage: json_api [PORT] */
#include <limits.h>
#include <stdlib.h>

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

static int list_notes(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    return send_json(res, 200, notes);
}

static int show_note(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    int64_t id = 0;
    const cJSON *note;
    (void)uvhttp_request_param_number(req, "id", 1, INT_MAX, &id);
    cJSON_ArrayForEach(note, notes)
    {
        if (cJSON_GetObjectItem(note, "id")->valueint == id)
            return send_json(res, 200, note);
    }
    return uvhttp_response_send_error(res, 404, "no such note");
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

/* Validates the request and copies only known fields. */
static int add_note(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    uvhttp_slice_t type = uvhttp_request_field(req, UVHTTP_FIELD_CONTENT_TYPE);
    if (!uvhttp_media_type_is(type, "application/json"))
        return uvhttp_response_send_error(res, 415, "send application/json");
    /* larger than max_body_size: 413 */
    cJSON *parsed = cJSON_ParseWithOpts(uvhttp_request_body_text(req), NULL, true);
    const cJSON *title = cJSON_GetObjectItemCaseSensitive(parsed, "title");
    int err = parsed == NULL           ? uvhttp_response_send_error(res, 400, "this is no JSON")
              : !cJSON_IsString(title) ? uvhttp_response_send_error(res, 422, "title is not a text")
                                       : store(res, title->valuestring);
    cJSON_Delete(parsed);
    return err;
}

int main(int argc, char **argv)
{
    uvhttp_server_t *server = uvhttp_server_new(NULL);
    notes = cJSON_CreateArray();
    uvhttp_server_on_error(server, uvhttp_error_as_json, NULL);
    uvhttp_server_route(server, "GET", "/notes", list_notes, NULL);
    uvhttp_server_route(server, "POST", "/notes", add_note, NULL);
    uvhttp_server_route(server, "GET", "/notes/:id", show_note, NULL);
    int port = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 8080;
    int status = uvhttp_server_main(server, "127.0.0.1", port); /* prints the first error */
    cJSON_Delete(notes);
    return status;
}

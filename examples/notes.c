/* A notes service: a JSON API with entity tags, events and attachments, and a page that shows the
 * notes live. FILE has the notes, the directory `attachments` what is attached, and `public` next
 * to the program the page. Writing needs the token of the environment variable NOTES_TOKEN.
 *
 *     curl -H "Authorization: Bearer secret" -H "Content-Type: application/json" \
 *         -d '{"title":"Milk","text":"two bottles"}' http://127.0.0.1:8080/api/notes
 *     curl "http://127.0.0.1:8080/api/notes?q=milk&limit=5"
 *
 * Usage: notes [PORT [FILE]]; default: 8080 notes.json */
#define _GNU_SOURCE 1 /* strcasestr */

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cjson/cJSON.h>
#include <uv.h>
#include <uvhttp.h>

/* Handlers run on one thread, so these need no lock. That thread waits while notes are saved. */
static cJSON *store, *notes; /* {"last": number of changes, "notes": {id: note}}, and its notes */
static const char *file;
static uvhttp_event_hub_t *hub;

static const char *text_in(const cJSON *note, const char *name)
{
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(note, name));
}

static cJSON *find(uvhttp_request_t *req)
{
    return cJSON_GetObjectItemCaseSensitive(notes, uvhttp_request_param(req, "id"));
}

static int send_json(uvhttp_response_t *res, int status, const cJSON *value)
{
    char *text = cJSON_PrintUnformatted(value);
    if (text_in(value, "etag") != NULL)
        uvhttp_response_set_header(res, "ETag", text_in(value, "etag"));
    int err = text == NULL ? UVHTTP_ENOMEM : uvhttp_response_send_json(res, status, text);
    cJSON_free(text);
    return err;
}

/* Saves a change and publishes it. If that fails, the client gets 500, and the change is saved with
 * the next one. */
static int commit(const char *event, const char *id)
{
    char *text = cJSON_PrintUnformatted(store);
    int err = text == NULL ? UVHTTP_ENOMEM : uvhttp_file_save(file, text, strlen(text), 0);
    cJSON_free(text);
    const uvhttp_sse_event_t sent = {.event = uvhttp_slice_of(event), .data = uvhttp_slice_of(id)};
    return err != 0 ? err : uvhttp_event_hub_publish(hub, &sent);
}

static int list_notes(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    int64_t limit = 20, after = INT_MAX;
    if (uvhttp_request_query_number(req, "limit", 1, 100, &limit) != 0)
        return uvhttp_response_send_error(res, 422, "limit: must be a number from 1 to 100");
    if (uvhttp_request_query_number(req, "after", 1, INT_MAX, &after) != 0)
        return uvhttp_response_send_error(res, 422, "after: must be the id of a note");
    const char *q = uvhttp_request_query(req, "q");
    cJSON *note, *page = cJSON_CreateArray();
    cJSON_ArrayForEach(note, notes) /* in the order of adding */
    {
        if (cJSON_GetObjectItemCaseSensitive(note, "id")->valueint >= after)
            break;
        if (q == NULL || strcasestr(text_in(note, "title"), q) != NULL ||
            strcasestr(text_in(note, "text"), q) != NULL) {
            cJSON_InsertItemInArray(page, 0, cJSON_CreateObjectReference(note->child));
            cJSON_DeleteItemFromArray(page, (int)limit); /* if there are more */
        }
    }
    int err = send_json(res, 200, page);
    cJSON_Delete(page);
    return err;
}

static int show_note(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    const cJSON *note = find(req);
    return note == NULL ? uvhttp_response_send_status(res, 404) : send_json(res, 200, note);
}

/* cJSON ends a text at the escape of NUL. */
static bool has_nul(const char *json)
{
    for (; (json = strchr(json, '\\')) != NULL; json += 2) {
        if (strncmp(json, "\\u0000", 6) == 0)
            return true;
    }
    return false;
}

/* Title and text as clients send them; NULL after an error response with the result `*err`. */
static cJSON *read_note(uvhttp_request_t *req, uvhttp_response_t *res, int *err)
{
    uvhttp_slice_t type = uvhttp_request_field(req, UVHTTP_FIELD_CONTENT_TYPE);
    const char *body = uvhttp_request_body_text(req), *end = body;
    cJSON *sent = cJSON_ParseWithOpts(body, &end, true);
    const char *title = text_in(sent, "title");
    ptrdiff_t length = title == NULL ? 0 : uvhttp_utf8_count(title, strlen(title));
    const char *text = text_in(sent, "text");
    if (!uvhttp_media_type_is(type, "application/json"))
        *err = uvhttp_response_send_error(res, 415, "send application/json");
    else if (sent == NULL)
        *err = uvhttp_response_send_error(res, 400, "invalid JSON at byte %td", end - body);
    else if (has_nul(body))
        *err = uvhttp_response_send_error(res, 422, "a note must not contain \\u0000");
    else if (length < 1 || length > 200)
        *err = uvhttp_response_send_error(res, 422, "title: must have 1 to 200 characters");
    else if (text == NULL || strlen(text) > 65536)
        *err = uvhttp_response_send_error(res, 422, "text: must be a text of at most 64 KB");
    else if (cJSON_GetArraySize(sent) != 2)
        *err = uvhttp_response_send_error(res, 422, "a note has only title and text");
    else
        return sent;
    cJSON_Delete(sent);
    return NULL;
}

/* POST adds a note, PUT replaces one. */
static int store_note(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    char now[32], tag[16], location[48];
    bool adds = uvhttp_request_method(req) == UVHTTP_METHOD_POST;
    const cJSON *old = adds ? NULL : find(req);
    const uvhttp_validators_t current = {.etag = text_in(old, "etag")};
    int err, status = adds ? 0 : old == NULL ? 404 : uvhttp_request_precondition(req, &current);
    if (status != 0)
        return uvhttp_response_send_status(res, status);
    cJSON *note = read_note(req, res, &err);
    if (note == NULL)
        return err;
    cJSON *last = cJSON_GetObjectItemCaseSensitive(store, "last");
    int id = adds ? last->valueint + 1 : cJSON_GetObjectItemCaseSensitive(old, "id")->valueint;
    snprintf(tag, sizeof tag, "\"%d\"", last->valueint + 1);
    snprintf(location, sizeof location, "/api/notes/%d", id);
    uvhttp_rfc3339_encode(time(NULL), now, sizeof now);
    const char *key = strrchr(location, '/') + 1;
    cJSON_AddNumberToObject(note, "id", id);
    cJSON_AddStringToObject(note, "etag", tag);
    cJSON_AddStringToObject(note, "created", adds ? now : text_in(old, "created"));
    cJSON_AddStringToObject(note, "changed", now);
    if (cJSON_GetArraySize(note) != 6) {
        cJSON_Delete(note);
        return UVHTTP_ENOMEM; /* the client gets 503 */
    }
    if (adds)
        cJSON_AddItemToObject(notes, key, note);
    else
        cJSON_ReplaceItemInObjectCaseSensitive(notes, key, note);
    cJSON_SetNumberValue(last, last->valueint + 1);
    err = commit(adds ? "created" : "changed", key);
    if (adds)
        uvhttp_response_set_header(res, "Location", location);
    return err != 0 ? err : send_json(res, adds ? 201 : 200, note);
}

static int delete_note(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    char path[64];
    const char *id = uvhttp_request_param(req, "id");
    if (find(req) == NULL)
        return uvhttp_response_send_status(res, 404);
    cJSON_DeleteItemFromObjectCaseSensitive(notes, id);
    int err = commit("deleted", id);
    snprintf(path, sizeof path, "attachments/%s", id);
    (void)remove(path);
    return err != 0 ? err : uvhttp_response_send_status(res, 204);
}

static int store_attachment(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    const uvhttp_upload_options_t options = {.create_directory = true, .sync = true};
    const char *id = uvhttp_request_param(req, "id");
    return find(req) == NULL ? uvhttp_response_send_status(res, 404)
                             : uvhttp_upload_to_file(req, "attachments", id, &options, NULL, NULL);
}

static int send_attachment(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    char path[64];
    const uvhttp_send_file_options_t options = {.download_name = text_in(find(req), "title")};
    snprintf(path, sizeof path, "attachments/%s", uvhttp_request_param(req, "id"));
    int err = find(req) == NULL ? UV_ENOENT : uvhttp_response_send_file_with(res, path, &options);
    return err != UV_ENOENT ? err : uvhttp_response_send_status(res, 404);
}

static void add_middleware(uvhttp_server_t *server)
{
    uvhttp_router_t *all = uvhttp_server_router(server);
    const uvhttp_access_log_options_t log = {.path = "-", .format = UVHTTP_ACCESS_JSON};
    const uvhttp_cors_options_t cors = {.origins = "https://app.example",
                                        .headers = "Authorization, Content-Type, If-Match",
                                        .exposed = "ETag, Location, Retry-After, X-Request-Id"};
    uvhttp_access_log_use(server, &log);
    uvhttp_request_ids_use(all, NULL);
    uvhttp_security_headers_use(all, NULL);
    uvhttp_cors_use(all, &cors);
    uvhttp_router_use(all, uvhttp_body_etag_handle_request, NULL);
    uvhttp_server_on_error(server, uvhttp_error_as_json, NULL);
}

static void add_routes(uvhttp_server_t *server, const char *token)
{
    uvhttp_router_t *all = uvhttp_server_router(server), *list = NULL, *writers = NULL;
    const uvhttp_route_t upload = {.method = "POST",
                                   .pattern = "/:id/attachment",
                                   .handler = store_attachment,
                                   .max_body_size = 10 << 20,
                                   .flags = UVHTTP_ROUTE_STREAM};
    uvhttp_router_group(all, "", &list); /* a compressed note would have a weak tag */
    uvhttp_compress_use(list, NULL);
    uvhttp_router_route(list, "GET", "/api/notes", list_notes, NULL);
    uvhttp_server_route(server, "GET", "/api/notes/:id", show_note, NULL);
    uvhttp_server_route(server, "GET", "/api/notes/:id/attachment", send_attachment, NULL);
    uvhttp_server_route(server, "GET", "/api/events", uvhttp_event_hub_handle_request, hub);
    uvhttp_server_route(server, "GET", "/metrics", uvhttp_metrics_handle_request, server);
    uvhttp_router_group(all, "/api/notes", &writers);
    uvhttp_rate_limit_use(writers, &(uvhttp_rate_limit_options_t){.requests = 20});
    if (token != NULL)
        uvhttp_auth_use(writers, &(uvhttp_auth_options_t){.token = token});
    else /* 403 for all */
        uvhttp_address_rules_use(writers, &(uvhttp_address_rules_options_t){0});
    uvhttp_router_route(writers, "POST", "", store_note, NULL);
    uvhttp_router_route(writers, "PUT", "/:id", store_note, NULL);
    uvhttp_router_route(writers, "DELETE", "/:id", delete_note, NULL);
    uvhttp_router_add(writers, &upload);
}

int main(int argc, char **argv)
{
    char *text, public[PATH_MAX];
    size_t length = sizeof public - sizeof "public";
    uv_exepath(public, &length);
    memcpy(strrchr(public, '/') + 1, "public", sizeof "public");
    file = argc > 2 ? argv[2] : "notes.json";
    int err = uvhttp_file_load(file, &text, NULL);
    store = cJSON_Parse(err == UV_ENOENT ? "{\"last\":0,\"notes\":{}}" : text);
    notes = cJSON_GetObjectItemCaseSensitive(store, "notes");
    uvhttp_file_release(text);
    if (notes == NULL) {
        fprintf(stderr, "%s: %s\n", file, err != 0 ? uvhttp_strerror(err) : "it has no notes");
        return 1;
    }
    uvhttp_event_hub_new(&hub, &(uvhttp_event_hub_options_t){.keep = 100}, NULL);
    uvhttp_server_t *server = uvhttp_server_new(NULL);
    uvhttp_server_set(server, "handler_timeout", "10s");
    add_middleware(server);
    add_routes(server, getenv("NOTES_TOKEN"));
    uvhttp_static_mount(server, "/", &(uvhttp_static_options_t){.root = public}, NULL);
    int port = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 8080;
    int status = uvhttp_server_main(server, "127.0.0.1", port); /* prints the first error */
    uvhttp_event_hub_free(hub);
    cJSON_Delete(store);
    return status;
}

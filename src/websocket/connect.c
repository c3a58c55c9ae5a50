/* Clients: connects and performs the handshake until frames begin. */
#include <stdio.h>
#include <string.h>

#include <uvhttp/embedding.h>
#include <uvhttp/error.h>

#include "base/alloc.h"
#include "codec/text/shown.h"
#include "options/error.h"
#include "options/reload.h"
#include "platform/random.h"
#include "websocket/client_handshake.h"
#include "websocket/websocket.h"

enum {
    HOST_SIZE = 256,
    NONCE_SIZE = 16,
    SHOWN_HOST = 52, /* of a reason, which is limited like that of a close frame */
    SHOWN_URL = 100,
};

/* The state of a connection until its handshake is done. */
struct uvh_ws_opening {
    struct uvh_ws_client_handshake handshake;
    struct uvh_ws_deflate_preferences preferences;
    size_t reserved;              /* bytes of the budget, for the offered windows */
    char server[SHOWN_HOST + 16]; /* HOST:PORT */
    struct uvh_ws_reply reply;
    size_t request_size;
    char request[]; /* the request */
};

void uvh_websocket_opening_free(struct uvhttp_websocket *ws)
{
    struct uvhttp_websocket_endpoint *endpoint = ws->worker->endpoint;
    if (ws->opening == NULL)
        return;
    uvh_ws_deflate_unreserve(&endpoint->deflate, ws->opening->reserved);
    uvh_free(endpoint->allocator, ws->opening);
    ws->opening = NULL;
}

static void fail(struct uvhttp_websocket *ws, const char *reason)
{
    uvh_websocket_keep_reason(ws, reason, strlen(reason));
    uvhttp_stream_close(ws->stream);
}

/* ---- response ---- */

static void finish(struct uvhttp_websocket *ws, const struct uvh_ws_accepted *accepted)
{
    struct uvhttp_websocket_endpoint *endpoint = ws->worker->endpoint;
    struct uvh_ws_deflate *deflate = NULL;
    if (accepted->compressed) {
        deflate =
            uvh_ws_deflate_new(&endpoint->deflate, &accepted->terms, true, ws->opening->reserved);
        ws->opening->reserved = 0;
        if (deflate == NULL) {
            fail(ws, "no memory for compression");
            return;
        }
    }
    uvh_websocket_opening_free(ws);
    (void)uvhttp_stream_set_timer(ws->stream, 0);
    uvh_websocket_open(ws, accepted->protocol, deflate);
}

void uvh_websocket_read_handshake(struct uvhttp_websocket *ws, char *data, size_t size)
{
    struct uvh_ws_accepted accepted;
    size_t used = 0;
    uvh_websocket_ref(ws);
    switch (uvh_ws_reply_read(&ws->opening->reply, &ws->opening->handshake, data, size, &used,
                              &accepted)) {
    case UVHTTP_PARSE_MORE:
        break;
    case UVHTTP_PARSE_BAD:
        fail(ws, ws->opening->reply.reason);
        break;
    default:
        finish(ws, &accepted);
        if (used < size && ws->stream != NULL)
            uvh_websocket_receive(ws, data + used, size - used);
        break;
    }
    uvh_websocket_unref(ws);
}

/* ---- request ---- */

static void tell_unreachable(struct uvhttp_websocket *ws, int status)
{
    char reason[UVH_WS_REPLY_REASON];
    if (status == UVHTTP_ESTOPPED) {
        uvh_websocket_set_reason(ws, 0, uvh_websocket_stopping);
        return;
    }
    const char *why = status == UVHTTP_ETLS ? uvhttp_stream_tls_error(ws->stream) : NULL;
    snprintf(reason, sizeof(reason), "cannot connect to %s: %s", ws->opening->server,
             why != NULL ? why : uvhttp_strerror(status));
    uvh_websocket_keep_reason(ws, reason, strlen(reason));
}

static void on_connected(uvhttp_stream_t *stream, int status, void *arg)
{
    struct uvhttp_websocket *ws = arg;
    const uvhttp_websocket_options_t *options = &ws->worker->endpoint->options;
    if (status != 0) { /* the stream closes itself after this callback */
        tell_unreachable(ws, status);
        return;
    }
    uvh_websocket_ref(ws);
    int err = uvhttp_stream_set_timer(stream, options->close_timeout_ms);
    if (err == 0)
        err = uvhttp_stream_write(stream, ws->opening->request, ws->opening->request_size);
    if (err != 0 && ws->stream != NULL)
        fail(ws, uvhttp_strerror(err));
    uvh_websocket_unref(ws);
}

static int make_nonce(uint8_t nonce[NONCE_SIZE])
{
    uint64_t numbers[NONCE_SIZE / sizeof(uint64_t)];
    for (size_t i = 0; i < NONCE_SIZE / sizeof(uint64_t); i++) {
        int err = uvh_random_number(&numbers[i]);
        if (err != 0)
            return err;
    }
    memcpy(nonce, numbers, NONCE_SIZE);
    return 0;
}

static void show_server(const struct uvh_ws_url *url, char *text, size_t size)
{
    char host[SHOWN_HOST];
    bool v6 = memchr(url->host.base, ':', url->host.length) != NULL;
    snprintf(text, size, "%s%s%s:%u", v6 ? "[" : "", uvh_shown(url->host, host, sizeof(host)),
             v6 ? "]" : "", url->port);
}

/* Writes the request. On failure nothing is allocated. */
static int make_opening(struct uvhttp_websocket *ws, const struct uvh_ws_url *url,
                        const char *fields)
{
    struct uvhttp_websocket_endpoint *endpoint = ws->worker->endpoint;
    struct uvh_ws_deflate_preferences preferences = {0};
    struct uvh_ws_client_handshake handshake = {.url = url,
                                                .fields = fields,
                                                .protocols = endpoint->options.protocols,
                                                .protocol_required =
                                                    endpoint->options.protocol_required};
    uint8_t nonce[NONCE_SIZE];
    size_t reserved = 0;
    int err = make_nonce(nonce);
    if (err != 0)
        return err;
    bool compresses = uvh_ws_deflate_preferences(&endpoint->deflate, &preferences, &reserved);
    handshake.deflate = compresses ? &preferences : NULL;
    size_t size = uvh_ws_client_handshake_size(&handshake);
    struct uvh_ws_opening *opening = uvh_alloc(endpoint->allocator, sizeof(*opening) + size);
    if (opening == NULL) {
        uvh_ws_deflate_unreserve(&endpoint->deflate, reserved);
        return UVHTTP_ENOMEM;
    }
    ws->opening = opening;
    opening->preferences = preferences;
    opening->reserved = reserved;
    opening->handshake = handshake;
    opening->handshake.deflate = compresses ? &opening->preferences : NULL;
    show_server(url, opening->server, sizeof(opening->server));
    uvh_ws_reply_init(&opening->reply);
    ptrdiff_t written =
        uvh_ws_client_handshake_write(&opening->handshake, nonce, opening->request, size);
    if (written < 0) {
        uvh_websocket_opening_free(ws);
        return (int)written;
    }
    opening->request_size = (size_t)written;
    opening->handshake.url = NULL; /* they belong to the caller */
    opening->handshake.fields = NULL;
    return 0;
}

/* ---- errors before connecting ---- */

/* Reports the error to the log and to the caller. */
static int refuse(const struct uvhttp_websocket_endpoint *endpoint, const uvhttp_error_t *error,
                  int err)
{
    uvhttp_server_log(endpoint->server, UVHTTP_LOG_ERROR, "websocket: %s", error->text);
    return err;
}

/* A URL without possible secrets, before '@' and after '?' or '#'. */
static const char *show_url(const char *url, char *text, size_t size)
{
    char open[SHOWN_URL];
    const char *slashes = strstr(url, "://");
    size_t end = strcspn(url, "?#"), user = end;
    while (user > 0 && url[user - 1] != '@')
        user--;
    size_t scheme = slashes == NULL ? 0 : (size_t)(slashes - url) + 3;
    if (user == 0 || scheme > user)
        scheme = 0;
    int cut = url[end] != '\0';
    snprintf(open, sizeof(open), "%.*s%s%.*s%s", (int)scheme, url, user > 0 ? "...@" : "",
             (int)(end - user) + cut, url + user, cut != 0 ? "..." : "");
    return uvh_shown((uvhttp_slice_t){open, strlen(open)}, text, size);
}

static int refuse_url(const struct uvhttp_websocket_endpoint *endpoint, const char *url, int err,
                      const char *way_out, uvhttp_error_t *error)
{
    char shown[SHOWN_URL];
    uvh_error_string(error, "url", show_url(url == NULL ? "" : url, shown, sizeof(shown)), way_out);
    return refuse(endpoint, error, err);
}

static int check(const struct uvhttp_websocket_endpoint *endpoint,
                 const uvhttp_websocket_target_t *target, struct uvh_ws_url *url,
                 uvhttp_error_t *error)
{
    if (target->url == NULL || !uvh_ws_url_parse(target->url, url) || url->host.length >= HOST_SIZE)
        return refuse_url(endpoint, target->url, UVHTTP_EINVAL,
                          "must be ws[s]://host[:port]/path?query, with a port of 1 to 65535 and "
                          "without user, fragment and spaces",
                          error);
    if (uvh_ws_client_handshake_fields_valid(target->fields))
        return 0;
    uvh_error_sentence(
        error, "fields", NULL,
        "fields is invalid; each must be \"Name: value\\r\\n\", and none may belong to "
        "the handshake (Host, Connection, Sec-WebSocket-Key, ...) or announce a body");
    return refuse(endpoint, error, UVHTTP_EINVAL);
}

static int connect_stream(struct uvhttp_websocket *ws, const uvhttp_websocket_target_t *target,
                          const struct uvh_ws_url *url, uvhttp_error_t *error)
{
    const struct uvhttp_websocket_endpoint *endpoint = ws->worker->endpoint;
    uint32_t timeout_ms = endpoint->options.close_timeout_ms;
    char host[HOST_SIZE];
    memcpy(host, url->host.base, url->host.length);
    host[url->host.length] = '\0';
    int err =
        url->secure
            ? uvhttp_stream_connect_tls(endpoint->server, target->tls, host, url->port, timeout_ms,
                                        on_connected, &uvh_websocket_stream_events, ws, &ws->stream)
            : uvhttp_stream_connect(endpoint->server, host, url->port, timeout_ms, on_connected,
                                    &uvh_websocket_stream_events, ws, &ws->stream);
    if (err == UVHTTP_ENOTSUP)
        return refuse_url(
            endpoint, target->url, err,
            "wss requires TLS, which this build does not support: build with BUILD_WITH_HTTPS=ON",
            error);
    if (err == UVHTTP_ECONFIG) /* the first connection checks the server's configuration */
        uvh_error_copy(error, uvhttp_server_error(endpoint->server));
    return err;
}

static int start(struct uvhttp_websocket_endpoint *endpoint,
                 const uvhttp_websocket_target_t *target, void *data, uvhttp_websocket_t **out,
                 uvhttp_error_t *error)
{
    struct uvh_ws_url url;
    if (out != NULL)
        *out = NULL;
    if (endpoint == NULL)
        return UVHTTP_ENOMEM;
    if (target == NULL)
        return UVHTTP_EINVAL;
    int err = check(endpoint, target, &url, error);
    if (err != 0)
        return err;
    struct uvhttp_websocket *ws = uvh_websocket_new(&endpoint->workers[0], data);
    if (ws == NULL)
        return UVHTTP_ENOMEM;
    ws->client = true;
    err = make_opening(ws, &url, target->fields);
    if (err == 0)
        err = connect_stream(ws, target, &url, error);
    if (err != 0) {
        uvh_websocket_opening_free(ws);
        uvh_websocket_discard(ws);
        return err;
    }
    uvh_generation_ref(endpoint->generation);
    if (out != NULL)
        *out = ws;
    return 0;
}

int uvhttp_websocket_connect(uvhttp_websocket_endpoint_t *endpoint,
                             const uvhttp_websocket_target_t *target, void *data,
                             uvhttp_websocket_t **out, uvhttp_error_t *error)
{
    uvhttp_error_t own; /* for the log */
    error = error != NULL ? error : &own;
    uvh_error_clear(error);
    return uvh_error_end(error, start(endpoint, target, data, out, error));
}

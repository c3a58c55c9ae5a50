/* HTTPS with one certificate, which is reloaded when its file changes. The response shows the TLS
 * version of the connection.
 *
 *     openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 \
 *         -subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1 \
 *         -keyout key.pem -out certificate.pem
 *     ./https certificate.pem key.pem
 *     curl --cacert certificate.pem https://localhost:8443/ */
#include <uvhttp.h>

#include <stdlib.h>

static int hello(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    const uvhttp_tls_info_t *tls = uvhttp_request_tls(req); /* NULL for a request without TLS */
    char text[128];
    snprintf(text, sizeof(text), "Hello over %s\n", tls == NULL ? "plain text" : tls->version);
    return uvhttp_response_send_text(res, 200, text);
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: https CERTIFICATE KEY [PORT]\n");
        return 2;
    }
    int port = argc > 3 ? (int)strtol(argv[3], NULL, 10) : 8443;
    const uvhttp_tls_certificate_t certificate = {.certificate_file = argv[1], .key_file = argv[2]};
    const uvhttp_tls_options_t config = {
        .certificates = &certificate,
        .certificate_count = 1,
        .watch = true, /* a new certificate needs no restart */
        .log = uvhttp_log_to_stderr,
    };
    uvhttp_tls_t *tls;
    uvhttp_error_t error;
    int err = uvhttp_tls_new(&tls, &config, &error);
    if (err != 0) {
        fprintf(stderr, "%s: %s\n", uvhttp_strerror(err), error.text);
        return 1;
    }
    uvhttp_server_t *server = uvhttp_server_new(NULL);
    err = uvhttp_server_route(server, "GET", "/", hello, NULL);
    if (err == 0)
        err = uvhttp_server_listen_tls(server, "127.0.0.1", port, tls);
    uvhttp_tls_free(tls); /* the server holds a reference */
    if (err == 0)
        err = uvhttp_server_stop_on_signals(server);
    if (err == 0) {
        printf("listening on https://127.0.0.1:%d/\n", uvhttp_server_port(server));
        fflush(stdout);
        err = uvhttp_server_run(server);
    }
    uvhttp_server_free(server);
    if (err)
        fprintf(stderr, "%s\n", uvhttp_strerror(err));
    return err != 0;
}

/* HTTPS with one certificate, which is reloaded when its file changes. The response shows the TLS
 * version of the connection.
 *
 *     openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 \
 *         -subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1 \
 *         -keyout key.pem -out certificate.pem
 *     ./https certificate.pem key.pem
 *     curl --cacert certificate.pem https://localhost:8443/ */
#include <uvhttp.hpp>

#include <cstdlib>

int main(int argc, char **argv)
{
    if (argc < 3) {
        std::fprintf(stderr, "usage: https CERTIFICATE KEY [PORT]\n");
        return 2;
    }
    const int port = argc > 3 ? static_cast<int>(std::strtol(argv[3], nullptr, 10)) : 8443;
    const uvhttp::TlsCertificate certificates[] = {
        {.certificateFile = argv[1], .keyFile = argv[2]}};
    const uvhttp::Tls tls({
        .certificates = certificates,
        .watch = true, /* a new certificate needs no restart */
        .log = uvhttp_log_to_stderr,
    });
    uvhttp::Server server;
    server.get("/", [](uvhttp::Request req, uvhttp::Response res) {
        const uvhttp::TlsInfo *info = req.tls(); /* NULL for a request without TLS */
        char text[128];
        std::snprintf(text, sizeof text, "Hello over %s\n",
                      info == nullptr ? "plain text" : info->version);
        return res.sendText(200, text);
    });
    server.listenTls("127.0.0.1", port, tls); /* the server holds a reference */
    server.stopOnSignals();
    std::printf("listening on https://127.0.0.1:%d/\n", server.port());
    std::fflush(stdout);
    if (uvhttp::Result error = server.run()) {
        std::fprintf(stderr, "%s\n", server.details().text);
        return 1;
    }
}

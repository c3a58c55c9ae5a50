/* TLS client as an object: trusted authorities, a certificate, options (tls_client.h).
 *
 *     const uvhttp::TlsClient tls({.caFile = "ca.pem"});
 *     uvhttp::Result error = endpoint.connect({.url = "wss://chat.example/", .tls = &tls});
 *
 * If creation fails, error() returns the reason and details() a description; connecting with it
 * returns its error. It may be destroyed before its connections, which hold a reference. */
#ifndef UVHTTP_TLS_CLIENT_HPP
#define UVHTTP_TLS_CLIENT_HPP

#include <string_view>

#include <uvhttp/callback.hpp>
#include <uvhttp/middleware.hpp>
#include <uvhttp/tls_client.h>

namespace uvhttp
{

/* Omitted fields have their defaults. */
struct TlsClientOptions {
    std::string_view caFile = {}; /* omitted: the system's authorities */
    std::string_view certificateFile = {};
    std::string_view keyFile = {};
    std::string_view passphraseFile = {};
    std::string_view serverName = {};
    std::string_view alpn = {};
    uvhttp_tls_version_t minVersion = UVHTTP_TLS_VERSION_DEFAULT;
    uvhttp_tls_version_t maxVersion = UVHTTP_TLS_VERSION_DEFAULT;
    std::string_view ciphers = {};
    std::string_view cipherSuites = {};
    std::string_view groups = {};
    bool insecure = false; /* for tests only */
};

class TlsClient : public detail::Made<uvhttp_tls_client_t, uvhttp_tls_client_free>
{
public:
    explicit TlsClient(const TlsClientOptions &options = {}) noexcept
    {
        const detail::Option authorities(options.caFile), certificate(options.certificateFile);
        const detail::Option key(options.keyFile), phrase(options.passphraseFile);
        const detail::Option name(options.serverName), protocol(options.alpn);
        const detail::Option list(options.ciphers), suites(options.cipherSuites),
            curves(options.groups);
        if (!fine(detail::errorOf(authorities, certificate, key, phrase, name, protocol, list,
                                  suites, curves)))
            return;
        uvhttp_tls_client_options_t raw = {};
        raw.ca_file = authorities.c_str();
        raw.certificate_file = certificate.c_str();
        raw.key_file = key.c_str();
        raw.passphrase_file = phrase.c_str();
        raw.server_name = name.c_str();
        raw.alpn = protocol.c_str();
        raw.min_version = options.minVersion;
        raw.max_version = options.maxVersion;
        raw.ciphers = list.c_str();
        raw.cipher_suites = suites.c_str();
        raw.groups = curves.c_str();
        raw.insecure = options.insecure;
        make(uvhttp_tls_client_new, raw);
    }
};

} // namespace uvhttp

#endif

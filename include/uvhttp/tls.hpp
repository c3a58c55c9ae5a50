/* TLS as an object: certificates, keys and options (tls.h; see docs/https.md).
 *
 *     const uvhttp::TlsCertificate certificates[] = {
 *         {.certificateFile = "site.pem", .keyFile = "site.key"}};
 *     uvhttp::Tls tls({.certificates = certificates});
 *     uvhttp::Server server;
 *     server.listenTls("0.0.0.0", 443, tls);
 *
 * Strings and lists are read during construction. If creation fails, error() returns the reason
 * and details() a description, and the setup of a server that listens with it fails. It may be
 * destroyed before the server, which holds a reference. */
#ifndef UVHTTP_TLS_HPP
#define UVHTTP_TLS_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>

#include <uvhttp/callback.hpp>
#include <uvhttp/file.h>
#include <uvhttp/middleware.hpp>
#include <uvhttp/tls.h>

namespace uvhttp
{

using TlsInfo = uvhttp_tls_info_t;

/* A certificate with its key; strings are NUL-terminated. */
struct TlsCertificate {
    const char *certificateFile = nullptr;
    const char *keyFile = nullptr;
    const char *certificate = nullptr;
    const char *key = nullptr;
    const char *passphraseFile = nullptr;
    uvhttp_tls_passphrase_cb passphrase = nullptr;
    void *passphraseArg = nullptr;
    const char *ocspFile = nullptr;
    uvhttp_tls_client_auth_t clientAuth = UVHTTP_TLS_CLIENT_AUTH_OFF;

    uvhttp_tls_certificate_t native() const noexcept
    {
        uvhttp_tls_certificate_t raw = {};
        raw.certificate_file = certificateFile;
        raw.key_file = keyFile;
        raw.certificate = certificate;
        raw.key = key;
        raw.passphrase_file = passphraseFile;
        raw.passphrase = passphrase;
        raw.passphrase_arg = passphraseArg;
        raw.ocsp_file = ocspFile;
        raw.client_auth = clientAuth;
        return raw;
    }
};

/* Omitted fields have their defaults. */
struct TlsOptions {
    std::span<const TlsCertificate> certificates = {}; /* at least one */
    uvhttp_tls_profile_t profile = UVHTTP_TLS_INTERMEDIATE;
    uvhttp_tls_version_t minVersion = UVHTTP_TLS_VERSION_DEFAULT;
    uvhttp_tls_version_t maxVersion = UVHTTP_TLS_VERSION_DEFAULT;
    std::string_view ciphers = {};
    std::string_view cipherSuites = {};
    std::string_view groups = {};
    bool noTickets = false;
    std::chrono::milliseconds sessionLifetime = {};
    bool oneTimeTickets = false;
    std::size_t earlyData = 0; /* bytes; 0: none */
    std::size_t maxUsedTickets = 0;
    std::span<const char *const> ticketKeyFiles = {};
    bool ktls = false;
    uvhttp_tls_client_auth_t clientAuth = UVHTTP_TLS_CLIENT_AUTH_OFF;
    std::string_view clientCaFile = {};
    std::string_view clientCrlFile = {};
    std::string_view keyLogFile = {};
    bool watch = false;
    uvhttp_log_cb log = nullptr; /* on the watcher thread; for example uvhttp_log_to_stderr */
    void *logArg = nullptr;

    /* Calls `call` with the C options. */
    template <class Call> int with(Call call) const noexcept
    {
        const detail::Option list(ciphers), suites(cipherSuites), curves(groups);
        const detail::Option authorities(clientCaFile), revoked(clientCrlFile), keys(keyLogFile);
        const int unfit = detail::errorOf(list, suites, curves, authorities, revoked, keys);
        if (unfit != 0)
            return unfit;
        const std::unique_ptr<uvhttp_tls_certificate_t[]> pairs(
            new (std::nothrow) uvhttp_tls_certificate_t[certificates.size() + 1]);
        if (pairs == nullptr)
            return UVHTTP_ENOMEM;
        for (std::size_t i = 0; i < certificates.size(); i++)
            pairs[i] = certificates[i].native();
        uvhttp_tls_options_t raw = {};
        raw.certificates = pairs.get();
        raw.certificate_count = certificates.size();
        raw.profile = profile;
        raw.min_version = minVersion;
        raw.max_version = maxVersion;
        raw.ciphers = list.c_str();
        raw.cipher_suites = suites.c_str();
        raw.groups = curves.c_str();
        raw.no_tickets = noTickets;
        raw.session_lifetime_ms = detail::toMs(sessionLifetime);
        raw.one_time_tickets = oneTimeTickets;
        raw.early_data = earlyData;
        raw.max_used_tickets = maxUsedTickets;
        raw.ticket_key_files = detail::dataOf(ticketKeyFiles);
        raw.ticket_key_file_count = ticketKeyFiles.size();
        raw.ktls = ktls;
        raw.client_auth = clientAuth;
        raw.client_ca_file = authorities.c_str();
        raw.client_crl_file = revoked.c_str();
        raw.key_log_file = keys.c_str();
        raw.watch = watch;
        raw.log = log;
        raw.log_arg = logArg;
        return call(raw);
    }
};

class Tls : public detail::Made<uvhttp_tls_t, uvhttp_tls_free>
{
public:
    explicit Tls(const TlsOptions &options) noexcept
    {
        const Result unfit = options.with([this](const uvhttp_tls_options_t &raw) {
            make(uvhttp_tls_new, raw);
            return 0;
        });
        if (unfit)
            fine(unfit);
    }
    /* For new connections; after an error nothing has changed. Any thread. `details` may be
     * NULL. */
    [[nodiscard]] Result replace(const TlsOptions &options,
                                 SetupError *details = nullptr) const noexcept
    {
        bool called = false;
        const int error = options.with([&](const uvhttp_tls_options_t &raw) {
            called = true;
            return uvhttp_tls_replace(native(), &raw, details);
        });
        if (!called && details != nullptr)
            detail::setError(*details, error);
        return error;
    }
    /* Reloads all files. */
    [[nodiscard]] Result reload(SetupError *details = nullptr) const noexcept
    {
        return uvhttp_tls_reload(native(), details);
    }
    /* The random keys of session tickets, for a process that replaces this one. */
    Result saveTickets(std::span<unsigned char, UVHTTP_TLS_TICKET_STATE_SIZE> state) noexcept
    {
        return uvhttp_tls_save_tickets(native(), state.data());
    }
    Result
    restoreTickets(std::span<const unsigned char, UVHTTP_TLS_TICKET_STATE_SIZE> state) noexcept
    {
        return uvhttp_tls_restore_tickets(native(), state.data());
    }
    /* Expiry of the first certificate to expire, in seconds since 1970. */
    std::int64_t expires() const noexcept { return uvhttp_tls_expires(native()); }
};

/* A self-signed certificate for development (tls.h): the text for TlsCertificate::certificate; ""
 * after an error, which `details` describes. */
inline std::string makeSelfSigned(const List<const char *> &names = {},
                                  SetupError *details = nullptr)
{
    char *pem = nullptr;
    if (uvhttp_tls_make_self_signed(&pem, names.data(), details) != 0)
        return {};
    const std::unique_ptr<char, void (*)(char *)> kept(pem, uvhttp_file_release);
    return pem;
}

/* A middleware: 403 for a client without a certificate. */
inline Native requireClientCertificate() noexcept
{
    return {uvhttp_require_client_certificate, nullptr};
}

} // namespace uvhttp

#endif

/* What comes along with the server, as objects: files, limits for clients, the access log, signed cookies, entity tags.
 *
 * Each is made from a struct of options, in which what is left out has its default; the C header of the same name explains them. An object that could
 * not be made says so itself (error()), and to the server it is used with, whose set-up then fails. All but Server::files have to outlive the servers that
 * use them: declare them first. */
#ifndef UVHTTP_MODULES_HPP
#define UVHTTP_MODULES_HPP

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include <uvhttp/access_log.h>
#include <uvhttp/body_etag.h>
#include <uvhttp/callback.hpp>
#include <uvhttp/rate_limit.h>
#include <uvhttp/router.hpp>
#include <uvhttp/signed_cookie.h>
#include <uvhttp/size_limit.h>
#include <uvhttp/static.h>

namespace uvhttp
{

/* A folder (static.h). */
struct FileOptions {
    std::string_view root = {};
    std::string_view index = {}; /* names, separated by spaces; left out: "index.html"; "": none */
    bool listing = false;
    bool hidden = false;
    std::size_t cacheMemory = 0;
    std::size_t cacheEntries = 0;
    std::size_t memoryFileSize = 0;
    std::size_t revalidateMs = 0;
    bool uploads = false;
    bool uploadOverwrite = false;
    bool uploadFolders = false;
    bool uploadSync = false;
    std::size_t uploadMaxSize = 0;
    std::size_t cacheDescriptors = 0;
    std::size_t negativeMs = 0; /* UVHTTP_STATIC_NEVER: not at all */
    bool watch = false;
    const char *const *moreRoots = nullptr;
    std::string_view file = {};
    bool cleanUrls = false;
    bool spa = false;
    std::string_view fallback = {};
    std::string_view tryFiles = {};
    std::string_view errorPages = {};
    uvhttp_static_symlinks_t symlinks = UVHTTP_SYMLINKS_INSIDE;

    /* Calls `call` with the options as C has them. */
    template <class Call> int with(Call call) const noexcept
    {
        const Text folder(root), names(index);
        const Text one(file), missing(fallback), list(tryFiles), pages(errorPages);
        const int error = detail::errorOf(folder, names, one, missing, list, pages);
        if (error != 0)
            return error;
        uvhttp_static_config_t raw = {};
        raw.root = folder.c_str();
        raw.index = index.data() == nullptr ? nullptr : names.c_str();
        raw.listing = listing;
        raw.hidden = hidden;
        raw.cache_memory = cacheMemory;
        raw.cache_entries = cacheEntries;
        raw.memory_file_size = memoryFileSize;
        raw.revalidate_ms = revalidateMs;
        raw.uploads = uploads;
        raw.upload_overwrite = uploadOverwrite;
        raw.upload_folders = uploadFolders;
        raw.upload_sync = uploadSync;
        raw.upload_max_size = uploadMaxSize;
        raw.cache_descriptors = cacheDescriptors;
        raw.negative_ms = negativeMs;
        raw.watch = watch;
        raw.more_roots = moreRoots;
        raw.file = file.data() == nullptr ? nullptr : one.c_str();
        raw.clean_urls = cleanUrls;
        raw.spa = spa;
        raw.fallback = fallback.data() == nullptr ? nullptr : missing.c_str();
        raw.try_files = tryFiles.data() == nullptr ? nullptr : list.c_str();
        raw.error_pages = errorPages.data() == nullptr ? nullptr : pages.c_str();
        raw.symlinks = symlinks;
        return call(raw);
    }
};

/* A folder as a handler, for groups and hosts: its file is what "*" stands for in the pattern. Server::files is shorter, where that does. */
class Files
{
public:
    explicit Files(const FileOptions &options) noexcept
    {
        uvhttp_static_t *files = nullptr;
        error_ =
            options.with([&](const uvhttp_static_config_t &raw) { return uvhttp_static_open(&files, &raw); });
        files_.reset(files);
    }
    Result error() const noexcept { return error_; }
    uvhttp_static_t *native() const noexcept { return files_.get(); }
    operator Native() const && = delete; /* it has to outlive the server */
    operator Native() const &noexcept { return {uvhttp_static_handle_request, native(), error_, "files"}; }
    /* Loads a file into the cache now; before the server runs. */
    Result prewarm(const Text &path) const noexcept
    {
        if (error_ || path.error() != 0)
            return error_ ? error_ : Result(path.error());
        return uvhttp_static_prewarm_cache(native(), path.c_str());
    }

private:
    std::unique_ptr<uvhttp_static_t, detail::Freer<uvhttp_static_close>> files_;
    Result error_;
};

/* How many requests a client may make (rate_limit.h). */
struct RateLimitOptions {
    std::size_t requests = 0; /* required */
    std::size_t seconds = 0;
    std::size_t burst = 0;
    bool global = false;
    std::size_t maxClients = 0;
    std::size_t ipv4Prefix = 0;
    std::size_t ipv6Prefix = 0;
    std::string_view name = {};
    bool silent = false;
};

/* A middleware: server.use(limit). */
class RateLimit
{
public:
    explicit RateLimit(const RateLimitOptions &options) noexcept { make(options, nullptr, nullptr); }
    /* `key` gets a Request and returns a std::string_view: whose bucket it is; with data() NULL that of the client's address. */
    template <class F>
    RateLimit(const RateLimitOptions &options, F &&key) : key_(nullptr, detail::destroy<std::decay_t<F>>)
    {
        using Kept = std::decay_t<F>;
        Kept *kept = new (std::nothrow) Kept(std::forward<F>(key));
        key_.reset(kept);
        if (kept == nullptr) {
            error_ = UVHTTP_ENOMEM;
            return;
        }
        make(
            options,
            [](uvhttp_request_t *request, uvhttp_slice_t *to, void *arg) noexcept {
                return detail::guard(uvhttp_request_response(request),
                                     [&] { *to = toSlice(detail::stored<Kept>(arg)(Request(request))); });
            },
            kept);
    }
    /* The message names the option that is wrong. */
    Result error() const noexcept { return error_; }
    const char *message() const noexcept { return message_; }
    uvhttp_rate_limit_t *native() const noexcept { return limit_.get(); }
    operator Native() const && = delete; /* it has to outlive the server */
    operator Native() const &noexcept
    {
        return {uvhttp_rate_limit_handle_request, native(), error_,
                message_[0] != '\0' ? message_ : "rate limit"};
    }

private:
    void make(const RateLimitOptions &options, uvhttp_rate_key_cb key, void *arg) noexcept
    {
        const Text name(options.name);
        uvhttp_rate_limit_config_t raw = {};
        raw.requests = options.requests;
        raw.seconds = options.seconds;
        raw.burst = options.burst;
        raw.global = options.global;
        raw.key = key;
        raw.key_arg = arg;
        raw.max_clients = options.maxClients;
        raw.ipv4_prefix = options.ipv4Prefix;
        raw.ipv6_prefix = options.ipv6Prefix;
        raw.name = options.name.data() == nullptr ? nullptr : name.c_str();
        raw.silent = options.silent;
        uvhttp_rate_limit_t *limit = nullptr;
        error_ =
            name.error() != 0 ? name.error() : uvhttp_rate_limit_new(&limit, &raw, message_, sizeof message_);
        limit_.reset(limit);
    }

    std::unique_ptr<void, void (*)(void *)> key_ = {nullptr, nullptr};
    std::unique_ptr<uvhttp_rate_limit_t, detail::Freer<uvhttp_rate_limit_free>> limit_;
    Result error_;
    char message_[160] = "";
};

/* How large bodies may be (size_limit.h). A middleware. */
struct SizeLimitOptions {
    std::size_t maxRequestBody = 0;
    std::size_t maxResponseBody = 0;
};

class SizeLimit
{
public:
    explicit SizeLimit(const SizeLimitOptions &options) noexcept
    {
        const uvhttp_size_limit_config_t raw = {options.maxRequestBody, options.maxResponseBody, nullptr};
        uvhttp_size_limit_t *limit = nullptr;
        error_ = uvhttp_size_limit_new(&limit, &raw, message_, sizeof message_);
        limit_.reset(limit);
    }
    Result error() const noexcept { return error_; }
    const char *message() const noexcept { return message_; }
    uvhttp_size_limit_t *native() const noexcept { return limit_.get(); }
    operator Native() const && = delete; /* it has to outlive the server */
    operator Native() const &noexcept
    {
        return {uvhttp_size_limit_handle_request, native(), error_,
                message_[0] != '\0' ? message_ : "size limit"};
    }

private:
    std::unique_ptr<uvhttp_size_limit_t, detail::Freer<uvhttp_size_limit_free>> limit_;
    Result error_;
    char message_[160] = "";
};

/* A middleware: entity tags for answers that are made anew each time (body_etag.h). */
inline Native bodyEtags() noexcept
{
    return {uvhttp_body_etag_handle_request, nullptr};
}

/* The access log (access_log.h): server.onFinished(log). */
struct AccessLogOptions {
    std::string_view path = {}; /* required; "-": standard output */
    uvhttp_access_format_t format = UVHTTP_ACCESS_COMMON;
    std::string_view pattern = {};
    std::size_t bufferSize = 0;
    std::size_t flushMs = 0;
};

class AccessLog
{
public:
    explicit AccessLog(const AccessLogOptions &options) noexcept { open(options, nullptr, nullptr); }
    /* `trouble` gets a uvhttp_log_level_t and a std::string_view when writing fails or works again, on the log's thread. */
    template <class F>
    AccessLog(const AccessLogOptions &options, F &&trouble) : told_(nullptr, detail::destroy<std::decay_t<F>>)
    {
        using Kept = std::decay_t<F>;
        Kept *kept = new (std::nothrow) Kept(std::forward<F>(trouble));
        told_.reset(kept);
        if (kept == nullptr) {
            error_ = UVHTTP_ENOMEM;
            return;
        }
        open(
            options,
            [](uvhttp_log_level_t level, const char *message, void *arg) noexcept {
                detail::swallow([&] { detail::stored<Kept>(arg)(level, std::string_view(message)); });
            },
            kept);
    }
    Result error() const noexcept { return error_; }
    uvhttp_access_log_t *native() const noexcept { return log_.get(); }
    /* For logrotate; any thread. */
    void reopen() const noexcept { uvhttp_access_log_reopen(native()); }
    std::uint64_t dropped() const noexcept { return uvhttp_access_log_dropped(native()); }

private:
    void open(const AccessLogOptions &options, uvhttp_log_cb told, void *arg) noexcept
    {
        const Text path(options.path), pattern(options.pattern);
        uvhttp_access_log_config_t raw = {};
        raw.path = options.path.data() == nullptr ? nullptr : path.c_str();
        raw.format = options.format;
        raw.pattern = options.pattern.data() == nullptr ? nullptr : pattern.c_str();
        raw.buffer_size = options.bufferSize;
        raw.flush_ms = options.flushMs;
        raw.log = told;
        raw.log_arg = arg;
        uvhttp_access_log_t *log = nullptr;
        error_ = detail::errorOf(path, pattern);
        if (!error_)
            error_ = uvhttp_access_log_open(&log, &raw);
        log_.reset(log);
    }

    std::unique_ptr<void, void (*)(void *)> told_ = {nullptr, nullptr};
    std::unique_ptr<uvhttp_access_log_t, detail::Freer<uvhttp_access_log_close>> log_;
    Result error_;
};

/* Signs cookies (signed_cookie.h): Response::setSignedCookie, Request::signedCookie. */
class CookieSigner
{
public:
    /* Keys of 32 to 1,024 random bytes; the first one signs, all verify. */
    explicit CookieSigner(std::initializer_list<std::string_view> keys) noexcept
    {
        uvhttp_slice_t slices[16];
        std::size_t count = 0;
        for (std::string_view key : keys) {
            if (count == std::size(slices)) {
                error_ = UVHTTP_ECONFIG;
                return;
            }
            slices[count++] = toSlice(key);
        }
        const uvhttp_cookie_signer_config_t raw = {slices, count, nullptr};
        uvhttp_cookie_signer_t *signer = nullptr;
        error_ = uvhttp_cookie_signer_new(&signer, &raw, message_, sizeof message_);
        signer_.reset(signer);
    }
    Result error() const noexcept { return error_; }
    const char *message() const noexcept { return message_; }
    /* NULL after an error; signing and verifying then give that error. */
    const uvhttp_cookie_signer_t *native() const noexcept { return signer_.get(); }

private:
    std::unique_ptr<uvhttp_cookie_signer_t, detail::Freer<uvhttp_cookie_signer_free>> signer_;
    Result error_;
    char message_[160] = "";
};

inline Result Response::setSignedCookie(const CookieSigner &signer, const Cookie &cookie) const noexcept
{
    if (signer.error())
        return signer.error();
    return withCookie(cookie, [&](const uvhttp_cookie_t *raw) {
        return uvhttp_response_set_signed_cookie(response_, signer.native(), raw);
    });
}

inline Request::Signed Request::signedCookie(const CookieSigner &signer, const Text &name) const noexcept
{
    if (signer.error() || name.error() != 0)
        return {signer.error() ? signer.error() : Result(name.error()), {}};
    uvhttp_slice_t value;
    const int error = uvhttp_request_signed_cookie(request_, signer.native(), name.c_str(), &value);
    return {error, toView(value)};
}

} // namespace uvhttp

#endif

/* Modules of the server as objects: files, the access log, signed cookies, text templates; see
 * middleware.hpp for middleware.
 *
 * Each is created from a struct of options, in which omitted fields have their defaults; the C
 * header of the same name describes them. If creation fails, error() returns the reason, and the
 * setup of a server that uses the object fails with it. The server keeps a temporary one
 * (server.onFinished(AccessLog({...})), server.files("/", Files({...}))); others must outlive the
 * servers that use them: declare them first. */
#ifndef UVHTTP_MODULES_HPP
#define UVHTTP_MODULES_HPP

#include <chrono>
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
#include <uvhttp/callback.hpp>
#include <uvhttp/middleware.hpp>
#include <uvhttp/router.hpp>
#include <uvhttp/signed_cookie.h>
#include <uvhttp/static.h>
#include <uvhttp/template.h>

namespace uvhttp
{

using FileStats = uvhttp_static_stats_t;
using Prewarmed = uvhttp_static_prewarmed_t;
using FileRule = uvhttp_static_rule_t;

/* A directory (static.h). Lists are read when it is opened. */
struct FileOptions {
    std::string_view root = {};
    std::string_view index = {}; /* names, separated by spaces; omitted: "index.html"; "": none */
    bool listing = false;
    bool hidden = false;
    std::size_t cacheMemory = 0;
    std::size_t cacheEntries = 0;
    std::size_t memoryFileSize = 0;
    std::chrono::milliseconds revalidate = {};
    bool precompressed = false;
    bool compress = false;
    std::size_t compressMinSize = 0;
    std::size_t compressMaxSize = 0;
    std::size_t gzipLevel = 0;
    std::size_t brotliLevel = 0;
    std::size_t zstdLevel = 0;
    std::size_t cacheDescriptors = 0;
    std::chrono::milliseconds negative = {}; /* uvhttp::never: not at all */
    bool watch = false;
    List<const char *> types = {}; /* "md=text/markdown" */
    std::string_view defaultType = {};
    List<FileRule> rules = {}; /* {"*.css", "Cache-Control", "max-age=600"} */
    bool immutableAssets = false;
    std::size_t rateLimit = 0; /* bytes per second of each response */
    std::size_t rateBurst = 0;
    bool uploads = false;
    bool uploadOverwrite = false;
    bool uploadDirectories = false;
    bool uploadSync = false;
    std::size_t uploadMaxSize = 0;
    List<const char *> moreRoots = {};
    std::string_view file = {};
    bool cleanUrls = false;
    bool spa = false;
    std::string_view fallback = {};
    std::string_view tryFiles = {};
    std::string_view errorPages = {};
    uvhttp_static_symlinks_t symlinks = UVHTTP_SYMLINKS_INSIDE;
    List<const char *> hide = {}; /* patterns of paths */
    List<const char *> listed = {};
    std::size_t listingMax = 0;
    bool archive = false;
    std::size_t archiveEntries = 0;
    std::size_t archiveSize = 0;

    /* Calls `call` with the C options. */
    template <class Call> int with(Call call) const noexcept
    {
        const detail::Option directory(root), names(index), type(defaultType);
        const detail::Option one(file), missing(fallback), list(tryFiles), pages(errorPages);
        const int unfit = detail::errorOf(directory, names, type, one, missing, list, pages);
        if (unfit != 0)
            return unfit;
        uvhttp_static_options_t raw = {};
        raw.root = directory.c_str();
        raw.index = names.c_str();
        raw.listing = listing;
        raw.hidden = hidden;
        raw.cache_memory = cacheMemory;
        raw.cache_entries = cacheEntries;
        raw.memory_file_size = memoryFileSize;
        raw.revalidate_ms = detail::toMs(revalidate);
        raw.precompressed = precompressed;
        raw.compress = compress;
        raw.compress_min_size = compressMinSize;
        raw.compress_max_size = compressMaxSize;
        raw.gzip_level = gzipLevel;
        raw.brotli_level = brotliLevel;
        raw.zstd_level = zstdLevel;
        raw.cache_descriptors = cacheDescriptors;
        raw.negative_ms = detail::toMs(negative);
        raw.watch = watch;
        raw.types = types.data();
        raw.type_count = types.size();
        raw.default_type = type.c_str();
        raw.rules = rules.data();
        raw.rule_count = rules.size();
        raw.immutable_assets = immutableAssets;
        raw.rate_limit = rateLimit;
        raw.rate_burst = rateBurst;
        raw.uploads = uploads;
        raw.upload_overwrite = uploadOverwrite;
        raw.upload_directories = uploadDirectories;
        raw.upload_sync = uploadSync;
        raw.upload_max_size = uploadMaxSize;
        raw.more_roots = moreRoots.data();
        raw.file = one.c_str();
        raw.clean_urls = cleanUrls;
        raw.spa = spa;
        raw.fallback = missing.c_str();
        raw.try_files = list.c_str();
        raw.error_pages = pages.c_str();
        raw.symlinks = symlinks;
        raw.hide = hide.data();
        raw.listed = listed.data();
        raw.listing_max = listingMax;
        raw.archive = archive;
        raw.archive_entries = archiveEntries;
        raw.archive_size = archiveSize;
        return call(raw);
    }
};

/* Files to load before the server runs; omitted: everything within the limits (static.h). */
struct PrewarmOptions {
    std::string_view directory = {};
    List<const char *> patterns = {};
    std::size_t mostBytes = 0;
    std::size_t mostEntries = 0;
};

/* A directory as a handler, for groups and hosts: "*" in the pattern selects the file.
 * server.files(prefix, files) adds the usual routes; server.files(prefix, options) needs no such
 * object. For one server: the first that uses it (static.h). */
class Files
{
public:
    explicit Files(const FileOptions &options) noexcept
    {
        uvhttp_static_t *files = nullptr;
        error_ = options.with([&](const uvhttp_static_options_t &raw) {
            return uvhttp_static_new(&files, &raw, &details_);
        });
        if (details_.code != error_.code())
            detail::setError(details_, error_.code());
        files_.reset(files);
    }
    Result error() const noexcept { return error_; }
    /* The invalid option, its value and the reason. */
    const SetupError &details() const noexcept { return details_; }
    uvhttp_static_t *native() const noexcept { return files_.get(); }
    operator Native() const && = delete; /* the server keeps a temporary one, not this view */
    operator Native() const &noexcept { return as(uvhttp_static_handle_request); }
    /* The upload handler, for routes with `.stream` and the methods PUT and POST, after an
     * authenticating middleware. */
    Native uploads() const && = delete;
    Native uploads() const &noexcept { return as(uvhttp_static_handle_upload); }

    /* The program has changed the file at this path below the root, or any file: the next request
     * for it accesses the disk. Any thread. */
    void invalidate(const Text &path) const noexcept
    {
        if (path.error() == 0)
            uvhttp_static_invalidate(native(), path.c_str());
    }
    void invalidateAll() const noexcept { uvhttp_static_invalidate(native(), nullptr); }

    /* Sends one file, from the cache (uvhttp_static_send). */
    Result send(Response response, const Text &path,
                const SendFileOptions &options = {}) const noexcept
    {
        if (error_)
            return error_;
        return options.with(path, [&](const uvhttp_send_file_options_t &raw) {
            return uvhttp_static_send(files_.get(), response.native(), path.c_str(), &raw);
        });
    }

    /* Loads a file into the cache; before the server runs. */
    [[nodiscard]] Result prewarm(const Text &path) const noexcept
    {
        if (error_ || path.error() != 0)
            return error_ ? error_ : Result(path.error());
        return uvhttp_static_prewarm_cache(native(), path.c_str());
    }
    /* The same for the files of a directory. `found` may be NULL. */
    [[nodiscard]] Result prewarm(const PrewarmOptions &options,
                                 Prewarmed *found = nullptr) const noexcept
    {
        return prewarmDirectory(options, found, nullptr, nullptr);
    }
    /* `progress` gets a const Prewarmed & and the path as std::string_view for each loaded file;
     * false ends the loading. */
    template <class F>
    [[nodiscard]] Result prewarm(const PrewarmOptions &options, Prewarmed *found,
                                 F &&progress) const noexcept
    {
        auto call = [&progress](const Prewarmed &soFar, std::string_view path) -> bool {
            return progress(soFar, path);
        };
        return prewarmDirectory(
            options, found,
            [](const Prewarmed *soFar, const char *path, void *arg) noexcept {
                bool goOn = false;
                return detail::swallow(
                           [&] { goOn = detail::stored<decltype(call)>(arg)(*soFar, path); }) &&
                       goOn;
            },
            &call);
    }

    /* Sum over all workers; all 0 after an error. Any thread. */
    FileStats readStats() const noexcept
    {
        FileStats stats = {};
        (void)uvhttp_static_read_stats(native(), &stats);
        return stats;
    }

private:
    Native as(uvhttp_handler_cb handler) const noexcept
    {
        return {handler, native(), error_, "files", &details_};
    }
    [[nodiscard]] Result prewarmDirectory(const PrewarmOptions &options, Prewarmed *found,
                                          bool (*progress)(const Prewarmed *, const char *, void *),
                                          void *arg) const noexcept
    {
        const detail::Option directory(options.directory);
        if (error_ || directory.error() != 0)
            return error_ ? error_ : Result(directory.error());
        uvhttp_static_prewarm_options_t raw = {};
        raw.directory = directory.c_str();
        raw.patterns = options.patterns.data();
        raw.pattern_count = options.patterns.size();
        raw.most_bytes = options.mostBytes;
        raw.most_entries = options.mostEntries;
        raw.progress = progress;
        raw.arg = arg;
        return uvhttp_static_prewarm_directory(native(), &raw, found);
    }

    std::unique_ptr<uvhttp_static_t, detail::Freer<uvhttp_static_free>> files_;
    Result error_;
    SetupError details_ = {};
};

/* The access log (access_log.h): server.onFinished(log). */
struct AccessLogOptions {
    std::string_view path = {}; /* required; "-": standard output */
    uvhttp_access_format_t format = UVHTTP_ACCESS_COMMON;
    std::string_view pattern = {};
    std::size_t bufferSize = 0;
    std::chrono::milliseconds flush = {};
    std::uint32_t sample = 1; /* one line for this many requests below status 400 */
};

class AccessLog
{
public:
    explicit AccessLog(const AccessLogOptions &options) noexcept
    {
        open(options, nullptr, nullptr);
    }
    /* `trouble` gets a uvhttp_log_level_t and a std::string_view when writing fails or works
     * again, on the log's thread. */
    template <class F>
    AccessLog(const AccessLogOptions &options, F &&trouble)
        : report_(nullptr, detail::destroy<std::decay_t<F>>)
    {
        using Kept = std::decay_t<F>;
        Kept *kept = new (std::nothrow) Kept(std::forward<F>(trouble));
        report_.reset(kept);
        if (kept == nullptr) {
            error_ = UVHTTP_ENOMEM;
            detail::setError(details_, UVHTTP_ENOMEM);
            return;
        }
        open(
            options,
            [](uvhttp_log_level_t level, const char *message, void *arg) noexcept {
                detail::swallow(
                    [&] { detail::stored<Kept>(arg)(level, std::string_view(message)); });
            },
            kept);
    }
    Result error() const noexcept { return error_; }
    const SetupError &details() const noexcept { return details_; }
    uvhttp_access_log_t *native() const noexcept { return log_.get(); }
    /* For logrotate; any thread. */
    void reopen() const noexcept { uvhttp_access_log_reopen(native()); }
    std::uint64_t dropped() const noexcept { return uvhttp_access_log_dropped(native()); }

private:
    void open(const AccessLogOptions &options, uvhttp_log_cb report, void *arg) noexcept
    {
        const Text path(options.path), pattern(options.pattern);
        uvhttp_access_log_options_t raw = {};
        raw.path = options.path.data() == nullptr ? nullptr : path.c_str();
        raw.format = options.format;
        raw.pattern = options.pattern.data() == nullptr ? nullptr : pattern.c_str();
        raw.buffer_size = options.bufferSize;
        raw.flush_ms = detail::toMs(options.flush);
        raw.sample = options.sample;
        raw.log = report;
        raw.log_arg = arg;
        uvhttp_access_log_t *log = nullptr;
        error_ = detail::errorOf(path, pattern);
        detail::setError(details_, error_.code());
        if (!error_)
            error_ = uvhttp_access_log_new(&log, &raw, &details_);
        log_.reset(log);
    }

    std::unique_ptr<void, void (*)(void *)> report_ = {nullptr, nullptr};
    std::unique_ptr<uvhttp_access_log_t, detail::Freer<uvhttp_access_log_free>> log_;
    Result error_;
    SetupError details_ = {};
};

/* Signs cookies (signed_cookie.h): Response::setSignedCookie, Request::signedCookie. */
class CookieSigner : public detail::Made<uvhttp_cookie_signer_t, uvhttp_cookie_signer_free>
{
public:
    /* Keys of 32 to 1,024 random bytes; the first one signs, all verify. If creation fails,
     * signing and verifying return error(). */
    explicit CookieSigner(std::initializer_list<std::string_view> keys) noexcept
    {
        uvhttp_slice_t slices[16];
        std::size_t count = 0;
        for (std::string_view key : keys) {
            if (count < std::size(slices))
                slices[count] = toSlice(key);
            count++; /* more than 16 are rejected below, before they are read */
        }
        uvhttp_cookie_signer_options_t raw = {};
        raw.keys = slices;
        raw.key_count = count;
        make(uvhttp_cookie_signer_new, raw);
    }
};

/* A text with placeholders for values of a request (template.h). */
struct TemplateOptions {
    std::string_view text = {};
    uvhttp_template_kind_t kind = UVHTTP_TEMPLATE_TEXT;
    std::string_view pattern = {}; /* omitted: no parameters */
};

class Template : public detail::Made<uvhttp_template_t, uvhttp_template_free>
{
public:
    /* `text` lives as long as the exchange. */
    struct Expanded {
        Result error;
        std::string_view text;
    };

    explicit Template(const TemplateOptions &options) noexcept
    {
        const Text text(options.text);
        const detail::Option pattern(options.pattern);
        uvhttp_template_options_t raw = {};
        raw.text = text.c_str();
        raw.kind = options.kind;
        raw.pattern = pattern.c_str();
        if (fine(detail::errorOf(text, pattern)))
            make(uvhttp_template_new, raw);
    }
    Expanded expand(Request request) const noexcept
    {
        uvhttp_slice_t text = {"", 0};
        if (error())
            return {error(), {}};
        const int error = uvhttp_template_expand(native(), request.native(), &text);
        return {error, toView(text)};
    }
};

inline Result Response::setSignedCookie(const CookieSigner &signer,
                                        const Cookie &cookie) const noexcept
{
    if (signer.error())
        return signer.error();
    return withCookie(cookie, [&](const uvhttp_cookie_t *raw) {
        return uvhttp_response_set_signed_cookie(response_, signer.native(), raw);
    });
}

inline Request::Signed Request::signedCookie(const CookieSigner &signer,
                                             const Text &name) const noexcept
{
    if (signer.error() || name.error() != 0)
        return {signer.error() ? signer.error() : Result(name.error()), {}};
    uvhttp_slice_t value;
    const int error = uvhttp_request_signed_cookie(request_, signer.native(), name.c_str(), &value);
    return {error, toView(value)};
}

} // namespace uvhttp

#endif

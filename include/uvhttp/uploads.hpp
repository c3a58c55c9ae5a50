/* Options and results of Request::uploadToFile (upload.h) and Request::readForm (form_data.h). */
#ifndef UVHTTP_UPLOADS_HPP
#define UVHTTP_UPLOADS_HPP

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>

#include <uvhttp/form_data.h>
#include <uvhttp/result.hpp>
#include <uvhttp/upload.h>

namespace uvhttp
{

struct UploadOptions {
    std::uint64_t maxSize = 0;
    unsigned mode = 0;
    bool keepExisting = false;
    bool sync = false;
    bool createDirectory = false;
    bool sha256 = false; /* Upload::sha256 */
    uvhttp_upload_progress_cb progress = nullptr;
    uvhttp_upload_check_cb check = nullptr; /* in a job */
    void *arg = nullptr;                    /* of both */
};

/* A complete upload, valid as long as the exchange. */
struct Upload {
    std::string_view path;
    std::uint64_t size;
    bool created;
    std::string_view sha256; /* 64 hexadecimal digits with the option, else "" */
};

struct FormOptions {
    std::string_view directory = {};
    std::size_t memoryPartSize = 0;
    std::size_t memorySize = 0;
    std::uint64_t maxSize = 0;
    std::uint64_t maxPartSize = 0;
    std::uint32_t maxParts = 0;
    std::uint32_t maxHeaderSize = 0;
    unsigned mode = 0;
};

/* A part of a complete form: a view, valid as long as the exchange. */
class FormPart
{
public:
    explicit FormPart(const uvhttp_form_part_t *part) noexcept : part_(part) {}
    const uvhttp_form_part_t *native() const noexcept { return part_; }

    std::string_view name() const noexcept { return part_->name; }
    /* Sanitized file name, still chosen by the client; "" for a file input without a file,
     * std::nullopt if not a file. */
    std::optional<std::string_view> filename() const noexcept { return optional(part_->filename); }
    /* As sent by the client: never use it as a path. */
    std::optional<std::string_view> rawFilename() const noexcept
    {
        return optional(part_->raw_filename);
    }
    std::optional<std::string_view> type() const noexcept { return optional(part_->type); }
    std::uint64_t size() const noexcept { return part_->size; }
    /* Its bytes if in memory, else the path of its file. */
    std::optional<std::string_view> data() const noexcept
    {
        return part_->data == nullptr ? std::nullopt
                                      : std::optional(std::string_view(
                                            part_->data, static_cast<std::size_t>(part_->size)));
    }
    std::optional<std::string_view> path() const noexcept { return optional(part_->path); }
    /* Keeps it as a file; replaces none. Blocks for the disk. */
    [[nodiscard]] Result keep(const Text &to) const noexcept
    {
        return to.error() != 0 ? to.error() : uvhttp_form_part_keep(part_, to.c_str());
    }

private:
    static std::optional<std::string_view> optional(const char *text) noexcept
    {
        return text == nullptr ? std::nullopt : std::optional<std::string_view>(text);
    }

    const uvhttp_form_part_t *part_;
};

/* A complete form: for (uvhttp::FormPart part : form). */
class FormData
{
public:
    class Iterator
    {
    public:
        using value_type = FormPart;
        using difference_type = std::ptrdiff_t;
        using iterator_concept = std::forward_iterator_tag;

        Iterator() noexcept = default;
        explicit Iterator(const uvhttp_form_part_t *part) noexcept : part_(part) {}
        FormPart operator*() const noexcept { return FormPart(part_); }
        Iterator &operator++() noexcept
        {
            part_ = part_->next;
            return *this;
        }
        Iterator operator++(int) noexcept
        {
            Iterator before = *this;
            ++*this;
            return before;
        }
        friend bool operator==(const Iterator &a, const Iterator &b) noexcept
        {
            return a.part_ == b.part_;
        }

    private:
        const uvhttp_form_part_t *part_ = nullptr;
    };

    explicit FormData(const uvhttp_form_data_t *form) noexcept : form_(form) {}
    const uvhttp_form_data_t *native() const noexcept { return form_; }
    Iterator begin() const noexcept { return Iterator(form_->parts); }
    Iterator end() const noexcept { return Iterator(); }
    std::size_t size() const noexcept { return form_->count; }
    /* The first part of that name. */
    std::optional<FormPart> part(const Text &name) const noexcept
    {
        const uvhttp_form_part_t *found =
            name.error() != 0 ? nullptr : uvhttp_form_data_part(form_, name.c_str());
        return found == nullptr ? std::nullopt : std::optional(FormPart(found));
    }

private:
    const uvhttp_form_data_t *form_;
};

} // namespace uvhttp

#endif

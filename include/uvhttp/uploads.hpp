/* What bodies become that go to files while they come: uploads (upload.h) and forms with files
 * (form_data.h). Request::uploadToFile and Request::readForm take them; here stands what these are
 * told and what they give. */
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
};

/* An upload that is complete, as long as the exchange lives. */
struct Upload {
    std::string_view path;
    std::uint64_t size;
    bool created;
};

struct FormOptions {
    std::string_view folder = {};
    std::size_t memoryPartSize = 0;
    std::size_t memorySize = 0;
    std::uint64_t maxSize = 0;
    std::uint64_t maxPartSize = 0;
    std::uint32_t maxParts = 0;
    std::uint32_t maxHeaderSize = 0;
    unsigned mode = 0;
};

/* A part of a form that has come: a view, good as long as the exchange. */
class FormPart
{
public:
    explicit FormPart(const uvhttp_form_part_t *part) noexcept : part_(part) {}
    const uvhttp_form_part_t *native() const noexcept { return part_; }

    std::string_view name() const noexcept { return part_->name; }
    /* Fit to be a file's name, though still the client's words; "" for a file input without a file,
     * nothing when it is no file. */
    std::optional<std::string_view> filename() const noexcept { return optional(part_->filename); }
    /* As the client says: never use it as a path. */
    std::optional<std::string_view> rawFilename() const noexcept
    {
        return optional(part_->raw_filename);
    }
    std::optional<std::string_view> type() const noexcept { return optional(part_->type); }
    std::uint64_t size() const noexcept { return part_->size; }
    /* Its bytes when they are in memory, else the file that they are in. */
    std::optional<std::string_view> data() const noexcept
    {
        return part_->data == nullptr ? std::nullopt
                                      : std::optional(std::string_view(
                                            part_->data, static_cast<std::size_t>(part_->size)));
    }
    std::optional<std::string_view> path() const noexcept { return optional(part_->path); }
    /* Gives it to a file of your own; replaces none. Waits for the disk. */
    Result keep(const Text &to) const noexcept
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

/* A form that has come: for (uvhttp::FormPart part : form). */
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

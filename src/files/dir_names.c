/* Processes text character by character; each character has one replacement. */
#include "files/dir_names.h"

#include <string.h>

#include "base/compiler.h"
#include "codec/text/html.h"
#include "codec/text/json.h"
#include "codec/text/percent.h"
#include "codec/text/utf8_sequence.h"

static const char replacement[] = "\xEF\xBF\xBD"; /* U+FFFD */

static bool is_control(unsigned char byte)
{
    return byte < 0x20 || byte == 0x7F;
}

/* "[U+202E]" for a character that changes the direction of the text after it (UAX #9), so that a
 * name shows what it is: "gpj.exe" after U+202E looks like "exe.jpg". NULL for others. */
static const char *visible_direction(const char *text, size_t size)
{
    static const struct {
        char bytes[4];
        const char *shown;
    } controls[] = {
        {"\xD8\x9C", "[U+061C]"},     {"\xE2\x80\x8E", "[U+200E]"}, {"\xE2\x80\x8F", "[U+200F]"},
        {"\xE2\x80\xAA", "[U+202A]"}, {"\xE2\x80\xAB", "[U+202B]"}, {"\xE2\x80\xAC", "[U+202C]"},
        {"\xE2\x80\xAD", "[U+202D]"}, {"\xE2\x80\xAE", "[U+202E]"}, {"\xE2\x81\xA6", "[U+2066]"},
        {"\xE2\x81\xA7", "[U+2067]"}, {"\xE2\x81\xA8", "[U+2068]"}, {"\xE2\x81\xA9", "[U+2069]"},
    };
    if (size != 2 && size != 3)
        return NULL;
    for (size_t i = 0; i < UVH_COUNT_OF(controls); i++) {
        if (strlen(controls[i].bytes) == size && memcmp(controls[i].bytes, text, size) == 0)
            return controls[i].shown;
    }
    return NULL;
}

/* The replacement for a character that HTML and plain text cannot show; NULL when they can. `size`
 * is 0 for an invalid byte. */
static const char *picture_of(const char *text, size_t size, char picture[4])
{
    unsigned char first = (unsigned char)text[0];
    if (size == 1 && is_control(first)) {
        picture[0] = '\xE2';
        picture[1] = '\x90';
        picture[2] = (char)(0x80 + (first == 0x7F ? 0x21 : first));
        picture[3] = '\0';
        return picture;
    }
    bool second_control = size == 2 && first == 0xC2 && (unsigned char)text[1] < 0xA0;
    return size == 0 || second_control || uvh_utf8_sequence_is_noncharacter(text, size)
               ? replacement
               : NULL;
}

static void append_html(struct uvh_bytes *page, const char *text, size_t length, bool lines)
{
    for (size_t i = 0; i < length;) {
        char picture[4];
        size_t size = uvh_utf8_sequence_valid_length(text + i, length - i);
        const char *shown = size == 1 ? uvh_html_reference(text[i]) : NULL;
        if (lines && text[i] == '\r')
            shown = i + 1 < length && text[i + 1] == '\n' ? "" : "\n";
        else if (shown == NULL && !(lines && (text[i] == '\n' || text[i] == '\t')))
            shown = picture_of(text + i, size, picture);
        if (shown == NULL && !lines)
            shown = visible_direction(text + i, size);
        if (shown != NULL)
            uvh_bytes_append_text(page, shown);
        else
            uvh_bytes_append(page, text + i, size);
        i += size == 0 ? 1 : size;
    }
}

void uvh_dir_names_html(struct uvh_bytes *page, const char *text, size_t length)
{
    append_html(page, text, length, false);
}

void uvh_dir_names_html_lines(struct uvh_bytes *page, const char *text, size_t length)
{
    append_html(page, text, length, true);
}

void uvh_dir_names_json(struct uvh_bytes *page, const char *text, size_t length)
{
    char escaped[UVH_JSON_CHARACTER_SIZE];
    size_t size;
    for (size_t i = 0; i < length; i += size) {
        size_t part = uvh_json_character(text + i, length - i, escaped, &size);
        uvh_bytes_append(page, escaped, part);
    }
}

void uvh_dir_names_plain(struct uvh_bytes *page, const char *text, size_t length)
{
    for (size_t i = 0; i < length;) {
        char picture[4];
        size_t size = uvh_utf8_sequence_valid_length(text + i, length - i);
        const char *shown = picture_of(text + i, size, picture);
        if (shown == NULL)
            shown = visible_direction(text + i, size);
        if (shown != NULL)
            uvh_bytes_append_text(page, shown);
        else
            uvh_bytes_append(page, text + i, size);
        i += size == 0 ? 1 : size;
    }
}

void uvh_dir_names_link(struct uvh_bytes *page, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        char encoded[3];
        char *end = uvh_percent_write(encoded, (uvhttp_slice_t){text + i, 1}, "-._~");
        uvh_bytes_append(page, encoded, (size_t)(end - encoded));
    }
}

/* Configuration files, without the file system. Properties: reading ends, a rejected file has a
 * problem, and an accepted one is the same after it is printed and read again. */
#include <stdio.h>

#include "app/config_file.h"
#include "app/print_config.h"
#include "fuzz/fuzz_check.h"

static const char *variable(const char *name)
{
    switch (name[0]) {
    case 'B':
        return "\xc3\x28";
    case 'E':
        return "";
    case 'L':
        return "line: one\n- \"two\" # ${HOME} \xe2\x80\xa8\xef\xbb\xbf\x01";
    default:
        return NULL;
    }
}

static char *print(const struct uvh_setup *setup, size_t *size)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, size);
    require(out != NULL);
    uvh_print_config(setup, out);
    require(fclose(out) == 0);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct uvh_problems problems = {.file = "fuzz"};
    struct uvh_config_file file;
    char *copy = exact_copy(data, size);
    bool ok = uvh_config_file_read(&file, copy, size, "/srv/site", variable, &problems);
    free(copy);
    require(ok == (problems.count == 0));
    if (ok) {
        struct uvh_config_file again;
        size_t first_size, second_size;
        char *first = print(&file.setup, &first_size);
        require(uvh_config_file_read(&again, first, first_size, "/elsewhere", variable, &problems));
        char *second = print(&again.setup, &second_size);
        require(first_size == second_size && memcmp(first, second, first_size) == 0);
        uvh_config_file_release(&again);
        free(first);
        free(second);
    }
    uvh_config_file_release(&file);
    return 0;
}

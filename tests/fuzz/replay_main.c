/* Runs a fuzz target over stored inputs, for builds without libFuzzer.
 *
 * Linked to each tests/fuzz/fuzz_*.c outside the fuzz preset. Arguments are files and directories.
 * Each file, and each file of a directory in the order of names, is passed to
 * LLVMFuzzerTestOneInput once. Exits with 1 when there is no input, since such a replay tests
 * nothing. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t inputs;

static int replay_file(const char *path, size_t size)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        perror(path);
        return -1;
    }
    /* Exactly as large as the input, so that a sanitizer detects a read after its end. */
    uint8_t *data = malloc(size > 0 ? size : 1);
    if (data == NULL || fread(data, 1, size, file) != size) {
        fprintf(stderr, "%s: cannot be read\n", path);
        free(data);
        fclose(file);
        return -1;
    }
    fclose(file);
    /* If the target ends the process, the last line names the input. */
    printf("%s\n", path);
    fflush(stdout);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    inputs++;
    return 0;
}

static int visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int replay_path(const char *path);

static int replay_directory(const char *path)
{
    struct dirent **entries;
    int count = scandir(path, &entries, visible, alphasort);
    if (count < 0) {
        perror(path);
        return -1;
    }
    int result = 0;
    for (int i = 0; i < count; i++) {
        size_t size = strlen(path) + strlen(entries[i]->d_name) + 2;
        char *inner = malloc(size);
        if (inner == NULL) {
            result = -1;
        } else {
            snprintf(inner, size, "%s/%s", path, entries[i]->d_name);
            if (replay_path(inner) < 0)
                result = -1;
        }
        free(inner);
        free(entries[i]);
    }
    free(entries);
    return result;
}

static int replay_path(const char *path)
{
    struct stat info;
    if (stat(path, &info) < 0) {
        perror(path);
        return -1;
    }
    if (S_ISDIR(info.st_mode))
        return replay_directory(path);
    return replay_file(path, (size_t)info.st_size);
}

int main(int argc, char **argv)
{
    int result = 0;
    for (int i = 1; i < argc; i++) {
        if (replay_path(argv[i]) < 0)
            result = 1;
    }
    printf("%zu inputs\n", inputs);
    if (inputs == 0) {
        fprintf(stderr, "%s: no input given\n", argv[0]);
        return 1;
    }
    return result;
}

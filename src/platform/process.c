/* getrusage, getrlimit and /proc/self (proc(5)). */
#include "platform/process.h"

#include <dirent.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "platform/clock.h"

enum {
    TEXT_SIZE = 1024,
    START_FIELD = 22, /* in clock ticks since boot */
    MOST_LISTED = 4096,
};

static uint64_t microseconds(struct timeval time)
{
    return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_usec;
}

/* "" if it cannot be read. */
static void read_file(const char *path, char text[TEXT_SIZE])
{
    FILE *file = fopen(path, "re");
    size_t length = file == NULL ? 0 : fread(text, 1, TEXT_SIZE - 1, file);
    text[length] = '\0';
    if (file != NULL)
        fclose(file);
}

/* The number at that position of a list separated by spaces, from 1. */
static uint64_t number_at(const char *text, int position)
{
    for (; position > 1 && text != NULL; position--) {
        text = strchr(text, ' ');
        text = text == NULL ? NULL : text + 1;
    }
    return text == NULL ? 0 : strtoull(text, NULL, 10);
}

/* From Linux 6.2 the size of the directory is their number. Before, each one is listed, which takes
 * too long for many connections. */
static uint64_t count_fds(void)
{
    struct stat directory;
    uint64_t count = 0;
    if (stat("/proc/self/fd", &directory) != 0)
        return 0;
    if (directory.st_size > 0)
        return (uint64_t)directory.st_size;
    DIR *listed = opendir("/proc/self/fd");
    const struct dirent *entry;
    while (listed != NULL && count <= MOST_LISTED && (entry = readdir(listed)) != NULL)
        count += entry->d_name[0] != '.';
    if (listed != NULL)
        closedir(listed);
    return count == 0 || count > MOST_LISTED ? 0 : count - 1; /* without `listed` */
}

/* The clock may be adjusted, but the start does not change. */
static int64_t find_start(void)
{
    static _Atomic int64_t found;
    int64_t start = atomic_load(&found);
    char text[TEXT_SIZE];
    struct timespec now;
    if (start != 0)
        return start;
    read_file("/proc/self/stat", text);
    const char *end = strrchr(text, ')'); /* of the name, the second field */
    uint64_t ticks = end == NULL ? 0 : number_at(end, START_FIELD - 1);
    if (ticks == 0 || clock_gettime(CLOCK_BOOTTIME, &now) != 0)
        return 0;
    int64_t up_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
    start = uvh_clock_unix_ms() - up_ms + (int64_t)(ticks * 1000 / (uint64_t)sysconf(_SC_CLK_TCK));
    atomic_store(&found, start);
    return start;
}

void uvh_process_read(struct uvh_process_figures *figures)
{
    struct rusage usage;
    struct rlimit limit;
    char text[TEXT_SIZE];
    *figures = (struct uvh_process_figures){.open_fds = count_fds(), .started_ms = find_start()};
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        figures->cpu_us = microseconds(usage.ru_utime) + microseconds(usage.ru_stime);
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
        figures->max_fds = (uint64_t)limit.rlim_cur;
    read_file("/proc/self/statm", text);
    figures->resident_bytes = number_at(text, 2) * (uint64_t)sysconf(_SC_PAGESIZE);
}

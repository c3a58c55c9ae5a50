/* Preloaded by test_clock.py: adds the seconds in the file CLOCK_OFFSET_FILE to the calendar clock,
 * as if the clock of the machine were set. Other clocks are those of the system. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *offset;
static int (*read_clock)(clockid_t, struct timespec *);

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("CLOCK_OFFSET_FILE");
    int file = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    void *data =
        file < 0 ? MAP_FAILED : mmap(NULL, sizeof(*offset), PROT_READ, MAP_SHARED, file, 0);
    if (data == MAP_FAILED)
        abort();
    close(file);
    *(void **)(&read_clock) = dlsym(RTLD_NEXT, "clock_gettime");
    offset = data;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    if (read_clock == NULL) /* called before the constructor */
        *(void **)(&read_clock) = dlsym(RTLD_NEXT, "clock_gettime");
    int err = read_clock(clock, now);
    if (err == 0 && offset != NULL && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        now->tv_sec += (time_t)*offset;
    return err;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec exact;
    (void)zone;
    int err = clock_gettime(CLOCK_REALTIME, &exact);
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return err;
}

time_t time(time_t *out)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out != NULL)
        *out = now.tv_sec;
    return now.tv_sec;
}

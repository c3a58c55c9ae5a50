/* memfd_create(2). */
#include "platform/memory_file.h"

#include <errno.h>

#if defined(__linux__)

#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <unistd.h>

#if !defined(MFD_NOEXEC_SEAL) /* Linux 6.3 */
#define MFD_NOEXEC_SEAL 0x0008U
#endif

enum { MOST_AREAS = 4 };

/* sendfile passes all pages on at once. */
static bool passes_pages_on(void)
{
    struct utsname system;
    unsigned major, minor;
    return uname(&system) == 0 && sscanf(system.release, "%u.%u", &major, &minor) == 2 &&
           (major > 6 || (major == 6 && minor >= 5));
}

int uvh_memory_file_open(void)
{
    if (!passes_pages_on())
        return -ENOSYS;
    int descriptor = memfd_create("uvhttp", MFD_CLOEXEC | MFD_NOEXEC_SEAL);
    return descriptor < 0 ? -errno : descriptor;
}

int uvh_memory_file_write(int descriptor, uint64_t offset, const uvhttp_slice_t *areas, size_t count)
{
    struct iovec vectors[MOST_AREAS];
    size_t size = 0;
    if (count > MOST_AREAS)
        return -EINVAL;
    for (size_t i = 0; i < count; i++) {
        vectors[i] = (struct iovec){(void *)(uintptr_t)areas[i].base, areas[i].length};
        size += areas[i].length;
    }
    ssize_t written = pwritev(descriptor, vectors, (int)count, (off_t)offset);
    if (written < 0)
        return -errno;
    return (size_t)written == size ? 0 : -ENOSPC;
}

#else

int uvh_memory_file_open(void)
{
    return -ENOSYS;
}

int uvh_memory_file_write(int descriptor, uint64_t offset, const uvhttp_slice_t *areas, size_t count)
{
    (void)descriptor, (void)offset, (void)areas, (void)count;
    return -ENOSYS;
}

#endif

/* memfd_create(2). */
#include "platform/memory_file.h"

#include <errno.h>

#if defined(__linux__)

#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <unistd.h>

#if !defined(MFD_NOEXEC_SEAL) /* Linux 6.3 */
#define MFD_NOEXEC_SEAL 0x0008U
#endif

/* True if sendfile passes all pages to the socket in one go. */
static bool passes_pages_on(void)
{
    struct utsname system;
    unsigned major, minor;
    return uname(&system) == 0 && sscanf(system.release, "%u.%u", &major, &minor) == 2 &&
           (major > 6 || (major == 6 && minor >= 5));
}

static bool may_grow_to(uint64_t size)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
           (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= size);
}

int uvh_memory_file_open(void)
{
    if (!passes_pages_on())
        return -ENOSYS;
    int descriptor = memfd_create("uvhttp", MFD_CLOEXEC | MFD_NOEXEC_SEAL);
    return descriptor < 0 ? -errno : descriptor;
}

int uvh_memory_file_write(int descriptor, uint64_t offset, const uvhttp_slice_t areas[2])
{
    const struct iovec vectors[] = {
        {(void *)(uintptr_t)areas[0].base, areas[0].length},
        {(void *)(uintptr_t)areas[1].base, areas[1].length},
    };
    size_t size = areas[0].length + areas[1].length;
    if (!may_grow_to(offset + size))
        return -EFBIG;
    ssize_t written = pwritev(descriptor, vectors, 2, (off_t)offset);
    if (written < 0)
        return -errno;
    return (size_t)written == size ? 0 : -ENOSPC;
}

#else

int uvh_memory_file_open(void)
{
    return -ENOSYS;
}

int uvh_memory_file_write(int descriptor, uint64_t offset, const uvhttp_slice_t areas[2])
{
    (void)descriptor, (void)offset, (void)areas;
    return -ENOSYS;
}

#endif

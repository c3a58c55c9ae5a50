/* getrandom blocks only until the kernel's entropy pool is initialised, early at boot. */
#include "platform/random.h"

#include <errno.h>
#include <sys/random.h>

int uvh_random_numbers(uint64_t *numbers, size_t count)
{
    size_t size = count * sizeof(*numbers);
    ssize_t written; /* up to 256 bytes are written as a whole */
    do
        written = getrandom(numbers, size, 0);
    while (written < 0 && errno == EINTR);
    if (written < 0)
        return -errno;
    return (size_t)written == size ? 0 : -EIO;
}

int uvh_random_number(uint64_t *number)
{
    return uvh_random_numbers(number, 1);
}

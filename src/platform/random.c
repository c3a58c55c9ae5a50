/* getrandom blocks only until the kernel's entropy pool is initialised, early at boot. */
#include "platform/random.h"

#include <errno.h>
#include <sys/random.h>

int uvh_random_number(uint64_t *number)
{
    ssize_t count;
    do
        count = getrandom(number, sizeof(*number), 0);
    while (count < 0 && errno == EINTR);
    if (count < 0)
        return -errno;
    return count == (ssize_t)sizeof(*number) ? 0 : -EIO;
}

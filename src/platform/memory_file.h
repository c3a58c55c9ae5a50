/* Files without a name that lie in memory, for bytes that are to leave by sendfile instead of being
 * copied for each client. */
#ifndef UVH_PLATFORM_MEMORY_FILE_H
#define UVH_PLATFORM_MEMORY_FILE_H

#include <stddef.h>
#include <stdint.h>

#include <uvhttp/types.h>

enum { UVH_MEMORY_FILE_PAGE = 4096 }; /* what begins at a multiple of it takes the fewest pages */

/* The descriptor of an empty one, to be closed with uvh_file_close, or a negative errno. -ENOSYS:
 * there never will be one. This is no Linux, or one before 6.5, whose sendfile hands each page over
 * by itself, so that nothing would be gained. Any thread. */
int uvh_memory_file_open(void);

/* Writes both areas, one behind the other, from `offset` on. 0, or a negative errno with an unknown
 * part written. -EFBIG: the process may not write files of that size (RLIMIT_FSIZE, which holds for
 * those in memory, too, and whose signal would end it). Any thread. */
int uvh_memory_file_write(int descriptor, uint64_t offset, const uvhttp_slice_t areas[2]);

#endif

/* Memory files (memfd), for bytes to be sent with sendfile instead of being copied for each
 * client. */
#ifndef UVH_PLATFORM_MEMORY_FILE_H
#define UVH_PLATFORM_MEMORY_FILE_H

#include <stddef.h>
#include <stdint.h>

#include <uvhttp/types.h>

/* content that begins at a multiple of it uses the fewest pages */
enum { UVH_MEMORY_FILE_PAGE = 4096 };

/* The descriptor of an empty memory file, or a negative errno. Close it with uvh_file_close.
 * -ENOSYS: memory files cannot be used: not Linux, or Linux before 6.5, whose sendfile passes pages
 * one by one, which is no faster than copying. Any thread. */
int uvh_memory_file_open(void);

/* Writes both areas, one after the other, from `offset` on.
 * Returns 0, or a negative errno with an unknown part written. -EFBIG: RLIMIT_FSIZE is too low; it
 * applies to memory files, too, and its signal SIGXFSZ would end the process. Any thread. */
int uvh_memory_file_write(int descriptor, uint64_t offset, const uvhttp_slice_t areas[2]);

#endif

/* Routes of a server for tests: small and large responses, files, cookies, handlers that allocate,
 * work on the thread pool, a handler that never responds, and a directory of files. fault_site
 * counts what the handlers did. */
#ifndef UVH_SUPPORT_FAULT_SITE_H
#define UVH_SUPPORT_FAULT_SITE_H

#include <uvhttp.h>

enum { FAULT_SITE_LARGE = 1 << 20 };

struct fault_site {
    char large[FAULT_SITE_LARGE]; /* body of "/large", "/file" and "/static/large.bin" */
    char directory[64];
    int works;     /* jobs run on the thread pool */
    int jobs_done; /* jobs completed on the loop */
    int pending;   /* requests for "/never" */
    int aborts;    /* on_abort calls for "/never" */
    int owned;     /* objects that the server has to release */
};

extern struct fault_site fault_site;

/* Create and remove the directory. They return 0, or -1 on a file error. */
int fault_site_prepare(void);
int fault_site_clean(void);

/* Adds routes, middleware and the directory to a server. The file cache uses `allocator`. Returns
 * 0, or the first error. */
int fault_site_build(uvhttp_server_t *server, const uvhttp_allocator_t *allocator);

#endif

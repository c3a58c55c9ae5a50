/* A server's routes for tests: small and large answers, files, cookies, whatever asks for memory,
 * work on the thread pool, a handler that never answers, a folder of files. What the handlers saw
 * is counted in fault_site. */
#ifndef UVH_SUPPORT_FAULT_SITE_H
#define UVH_SUPPORT_FAULT_SITE_H

#include <uvhttp.h>

enum { FAULT_SITE_LARGE = 1 << 20 };

struct fault_site {
    char large[FAULT_SITE_LARGE]; /* what "/large", "/file" and "/static/large.bin" send */
    char directory[64];
    int works;     /* jobs run on the thread pool */
    int jobs_done; /* and reported on the loop */
    int pending;   /* requests for "/never" */
    int aborts;    /* of these, told that the client has disconnected */
    int owned;     /* what the server has to release */
};

extern struct fault_site fault_site;

/* Makes and removes the folder. 0, or -1 when the disk fails. */
int fault_site_prepare(void);
int fault_site_clean(void);

/* Adds routes, middleware, and a folder of files to a server: 0, or the first error. The folder's
 * cache uses `allocator`. */
int fault_site_build(uvhttp_server_t *server, const uvhttp_allocator_t *allocator);

#endif

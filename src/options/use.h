/* The functions uvhttp_*_use, which create a middleware, add it, and leave it to the server.
 *
 * Called by the modules with middleware; the functions here belong to the server. */
#ifndef UVH_OPTIONS_USE_H
#define UVH_OPTIONS_USE_H

#include <uvhttp/error.h>
#include <uvhttp/router.h>

/* Adds a middleware that was created with the result `made`, whose error becomes that of the
 * server. The server owns the object, also if this fails. */
int uvh_use_made(uvhttp_router_t *router, uvhttp_handler_cb middleware, void *object,
                 uvhttp_release_cb release, const uvhttp_error_t *made);

/* Makes the error of another call that of the server. `server` and `error` may be NULL. Returns the
 * code. */
struct uvhttp_server;
int uvh_use_error(struct uvhttp_server *server, const uvhttp_error_t *error);

/* Defines uvhttp_MODULE_use. */
#define UVH_USE_FUNCTION(module)                                                                   \
    int uvhttp_##module##_use(uvhttp_router_t *router, const uvhttp_##module##_options_t *options) \
    {                                                                                              \
        uvhttp_##module##_t *object;                                                               \
        uvhttp_error_t made;                                                                       \
        (void)uvhttp_##module##_new(&object, options, &made);                                      \
        return uvh_use_made(router, uvhttp_##module##_handle_request, object,                      \
                            uvhttp_##module##_free, &made);                                        \
    }

#endif

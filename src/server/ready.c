/* Whether a server is ready for requests: uvhttp/health.h. */
#include <uvhttp/health.h>

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "options/error.h"
#include "route/router.h"
#include "server/ready.h"
#include "server/server.h"

struct uvh_check {
    struct uvh_check *next;
    uvhttp_ready_cb check;
    void *arg;
    char name[];
};

static int add(struct uvh_server *server, const char *name, uvhttp_ready_cb check, void *arg)
{
    if (name == NULL || check == NULL)
        return UVHTTP_EINVAL;
    if (server->life != UVH_SERVER_NEW)
        return UVHTTP_EFROZEN;
    size_t size = strlen(name) + 1;
    struct uvh_check *added = uvh_alloc(server->allocator, sizeof(*added) + size);
    if (added == NULL)
        return UVHTTP_ENOMEM;
    *added = (struct uvh_check){.check = check, .arg = arg};
    memcpy(added->name, name, size);
    struct uvh_check **last = &server->checks;
    while (*last != NULL)
        last = &(*last)->next;
    *last = added;
    return 0;
}

int uvhttp_server_add_check(uvhttp_server_t *view, const char *name, uvhttp_ready_cb check,
                            void *arg)
{
    if (view == NULL)
        return UVHTTP_ENOMEM;
    struct uvh_server *server = uvh_server_of(view);
    uvh_error_clear(uvh_server_error(server));
    return uvh_router_end(server->setup->router, add(server, name, check, arg));
}

void uvh_ready_free(struct uvh_server *server)
{
    while (server->checks != NULL) {
        struct uvh_check *check = server->checks;
        server->checks = check->next;
        uvh_free(server->allocator, check);
    }
}

bool uvhttp_server_is_ready(uvhttp_server_t *view, char *reason, size_t size)
{
    size = reason == NULL ? 0 : size;
    if (view == NULL || uvh_server_is_stopping(uvh_server_of(view))) {
        snprintf(reason, size, "stopping");
        return false;
    }
    struct uvh_server *server = uvh_server_of(view);
    const char *why = NULL;
    const struct uvh_check *check = server->checks;
    while (check != NULL && (why = check->check(check->arg)) == NULL)
        check = check->next;
    if (why == NULL)
        return true;
    snprintf(reason, size, "%s: %s", check->name, why);
    uvh_server_log(server, UVHTTP_LOG_WARNING, "not ready: %s: %s", check->name, why);
    return false;
}

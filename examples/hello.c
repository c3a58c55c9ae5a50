/* The smallest server: one route, one response.
 *
 *     curl -i http://127.0.0.1:8080/
 */
#include <uvhttp.h>

static int hello(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    (void)req, (void)arg;
    return uvhttp_response_send_text(res, 200, "Hello, world\n");
}

int main(void)
{
    /* NULL: the server owns its loop; or pass a uv_loop_t * */
    uvhttp_server_t *server = uvhttp_server_new(NULL);
    int err = uvhttp_server_route(server, "GET", "/", hello, NULL);
    if (err == 0)
        err = uvhttp_server_listen(server, "127.0.0.1", 8080);
    if (err == 0)
        /* runs until uvhttp_server_stop or a handled signal */
        err = uvhttp_server_run(server);
    if (err)
        fprintf(stderr, "%s\n", uvhttp_server_error(server)->text);
    uvhttp_server_free(server);
    return err != 0;
}

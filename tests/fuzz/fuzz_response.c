/* Response heads with their framing. The first byte of the input determines how the rest is split,
 * the second the limits and the request's method. See fuzz_heads.h for the properties. */
#include "fuzz/fuzz_heads.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uvhttp_method_t methods[] = {UVHTTP_METHOD_GET, UVHTTP_METHOD_HEAD,
                                              UVHTTP_METHOD_CONNECT, UVHTTP_METHOD_OTHER};
    if (size < 2)
        return 0;
    struct head_input input = {
        .kind = HEAD_RESPONSE,
        .data = (const char *)data + 2,
        .length = size - 2,
        .limits = {data[1] & 1 ? 64 : 8192, 100, data[1] & 2 ? 3 : 100},
        .request_method = methods[data[1] >> 2 & 3],
    };
    head_choose_splits(&input, data[0]);
    head_run(&input);
    return 0;
}

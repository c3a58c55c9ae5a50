/* Request heads with their framing, and trailer sections. The first byte of the input determines
 * how the rest is split, the second the limits. See fuzz_heads.h for the properties. */
#include "fuzz/fuzz_heads.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    struct head_input input = {
        .data = (const char *)data + 2,
        .length = size - 2,
        .limits = {data[1] & 1 ? 64 : 8192, data[1] & 2 ? 16 : 2048, data[1] & 4 ? 3 : 100},
    };
    head_choose_splits(&input, data[0]);
    input.kind = HEAD_REQUEST;
    head_run(&input);
    input.kind = HEAD_TRAILERS;
    head_run(&input);
    return 0;
}

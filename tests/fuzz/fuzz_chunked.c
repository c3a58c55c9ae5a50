/* Chunked bodies. The first byte chooses how the rest is cut, the second the limit of extensions. Holds:
 * cut or whole, the data, the verdict and what is consumed are the same; pieces lie within what was
 * consumed; every call with bytes at hand makes progress or ends. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <uvhttp/parser.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct outcome {
    uvhttp_parse_result_t result;
    unsigned reason;
    size_t used;
    size_t data_size;
    uint64_t sum; /* of the data, by place */
};

static void require(bool holds)
{
    if (!holds)
        abort();
}

static struct outcome decode(const char *data, size_t size, size_t step, uint32_t max_extension)
{
    struct outcome outcome = {UVHTTP_PARSE_MORE, 0, 0, 0, 0};
    uvhttp_chunked_t decoder;
    uvhttp_chunked_init(&decoder, max_extension);
    while (outcome.result == UVHTTP_PARSE_MORE && outcome.used < size) {
        size_t length = size - outcome.used < step ? size - outcome.used : step;
        size_t consumed;
        uvhttp_slice_t piece;
        char *copy = malloc(length);
        require(copy != NULL);
        memcpy(copy, data + outcome.used, length);
        outcome.result = uvhttp_chunked_decode(&decoder, copy, length, &consumed, &piece);
        require(consumed <= length && (consumed > 0 || outcome.result == UVHTTP_PARSE_BAD));
        if (piece.length > 0)
            require(piece.base >= copy && piece.base + piece.length == copy + consumed);
        for (size_t i = 0; i < piece.length; i++)
            outcome.sum = outcome.sum * 31 + (unsigned char)piece.base[i];
        outcome.data_size += piece.length;
        outcome.used += consumed;
        free(copy);
    }
    outcome.reason = decoder.reason;
    require((outcome.result == UVHTTP_PARSE_BAD) == (outcome.reason != 0));
    return outcome;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 3)
        return 0;
    uint32_t max_extension = data[1] & 1 ? 8 : 256;
    struct outcome whole = decode((const char *)data + 2, size - 2, size, max_extension);
    struct outcome cut = decode((const char *)data + 2, size - 2, data[0] % 32 + 1u, max_extension);
    require(whole.result == cut.result && whole.reason == cut.reason && whole.used == cut.used);
    require(whole.data_size == cut.data_size && whole.sum == cut.sum);
    return 0;
}

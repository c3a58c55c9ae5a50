/* Detects the CPU once, before main, so that calls need no check. */
#include "codec/http1/backend.h"

#include <stdlib.h>
#include <string.h>

#include "codec/simd/payload_backend.h"

enum { MAX_BACKENDS = 5 };

const struct uvh_h1_backend *uvh_h1_backend = &uvh_h1_backend_swar;
const struct uvh_payload_backend *uvh_payload_backend = &uvh_payload_backend_swar;

struct backend {
    const struct uvh_h1_backend *heads;
    const struct uvh_payload_backend *payloads;
};

/* The back ends this CPU supports, the fastest first. */
static size_t usable(struct backend found[MAX_BACKENDS])
{
    size_t count = 0;
#if defined(__x86_64__)
    __builtin_cpu_init();
    /* AVX2 first: measured on an AMD EPYC, family 26, AVX-512 is faster only for heads of
     * kilobytes, and some CPUs reduce their clock for it. */
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2"))
        found[count++] = (struct backend){&uvh_h1_backend_avx2, &uvh_payload_backend_avx2};
    if (count > 0 && __builtin_cpu_supports("avx512bw"))
        found[count++] = (struct backend){&uvh_h1_backend_avx512, &uvh_payload_backend_avx512};
    if (__builtin_cpu_supports("sse4.2"))
        found[count++] = (struct backend){&uvh_h1_backend_sse42, &uvh_payload_backend_sse42};
#elif defined(__AARCH64EL__)
    found[count++] = (struct backend){&uvh_h1_backend_neon, &uvh_payload_backend_neon};
#endif
    found[count++] = (struct backend){&uvh_h1_backend_swar, &uvh_payload_backend_swar};
#if defined(UVH_NEON_EMULATED) /* in tests only, on request */
    found[count++] = (struct backend){&uvh_h1_backend_neon, &uvh_payload_backend_neon};
#endif
    return count;
}

bool uvhttp_parser_use_backend(const char *name)
{
    struct backend found[MAX_BACKENDS];
    size_t count = usable(found);
    for (size_t i = 0; i < count; i++) {
        if (name == NULL || strcmp(found[i].heads->name, name) == 0) {
            uvh_h1_backend = found[i].heads;
            uvh_payload_backend = found[i].payloads;
            return true;
        }
    }
    return false;
}

const char *uvhttp_parser_backend(void)
{
    return uvh_h1_backend->name;
}

__attribute__((constructor)) static void choose(void)
{
    const char *wanted = getenv("UVHTTP_PARSER_BACKEND");
    if (wanted == NULL || !uvhttp_parser_use_backend(wanted))
        uvhttp_parser_use_backend(NULL);
}

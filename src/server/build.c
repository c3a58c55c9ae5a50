/* Version and features of this build. The macros come from CMake, for this file only. */
#include <uvhttp/server.h>

#if defined(UVH_WITH_MIMALLOC)
#define ALLOCATOR "mimalloc"
#else
#define ALLOCATOR "system allocator"
#endif

const char *uvhttp_version(void)
{
    return UVH_VERSION;
}

const char *uvhttp_build_info(void)
{
    return UVH_VERSION " " UVH_COMPILER " " UVH_BUILD_TYPE " " ALLOCATOR;
}

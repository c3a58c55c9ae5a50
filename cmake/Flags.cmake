# Compiler and linker flags, as one interface target (uvhttp_flags) that all our targets link.
#
# Sets UVHTTP_BUILD_TYPE and UVHTTP_COMPILER, which `uvhttp --version` prints and the benchmarks
# check.

if(ENABLE_DEBUG)
    if(CMAKE_BUILD_TYPE AND NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
        message(FATAL_ERROR
            "ENABLE_DEBUG is on and CMAKE_BUILD_TYPE is ${CMAKE_BUILD_TYPE}: leave one of them out")
    endif()
    set(CMAKE_BUILD_TYPE Debug)
elseif(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release)
endif()

set(UVHTTP_BUILD_TYPE ${CMAKE_BUILD_TYPE})
if(ENABLE_COVERAGE)
    set(UVHTTP_BUILD_TYPE Coverage)
endif()
if(UVHTTP_SANITIZER)
    set(UVHTTP_BUILD_TYPE ${UVHTTP_SANITIZER})
endif()
string(TOLOWER ${CMAKE_C_COMPILER_ID} UVHTTP_COMPILER)
string(REPLACE gnu gcc UVHTTP_COMPILER ${UVHTTP_COMPILER})
set(UVHTTP_COMPILER "${UVHTTP_COMPILER} ${CMAKE_C_COMPILER_VERSION}")

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
# Only examples and tests of uvhttp.hpp are C++; a build without them needs no C++ compiler.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

add_library(uvhttp_flags INTERFACE)
target_compile_definitions(uvhttp_flags INTERFACE _GNU_SOURCE)
# Within another project a compiler that is newer than ours may warn about more.
target_compile_options(uvhttp_flags INTERFACE
    -Wall -Wextra -Wformat=2 -Wshadow -Wconversion
    $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes;-Wmissing-prototypes>
    $<$<COMPILE_LANGUAGE:CXX>:-Wold-style-cast>
    -Wvla $<$<BOOL:${UVHTTP_TOP_LEVEL}>:-Werror> -fstack-protector-strong)
target_link_options(uvhttp_flags INTERFACE -Wl,-z,relro,-z,now -Wl,--as-needed)

if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
    # Calls within the library to its exported functions do not need to be replaceable.
    target_compile_options(uvhttp_flags INTERFACE -fno-semantic-interposition)
endif()

# glibc can check sizes only with optimisation; without it the macro is an error. The checked
# functions would hide accesses from a sanitizer.
if(NOT UVHTTP_SANITIZER AND NOT ENABLE_COVERAGE AND NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
    target_compile_options(uvhttp_flags INTERFACE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
endif()

if(CMAKE_BUILD_TYPE STREQUAL "Debug")
    target_compile_definitions(uvhttp_flags INTERFACE UVH_DEBUG_CHECKS=1)
endif()

if(ENABLE_COVERAGE)
    target_compile_options(uvhttp_flags INTERFACE --coverage)
    target_link_options(uvhttp_flags INTERFACE --coverage)
endif()

set(UVHTTP_ASAN_FLAGS -fsanitize=address,undefined -fno-sanitize-recover=all
    -fno-omit-frame-pointer)
if(UVHTTP_SANITIZER STREQUAL "asan")
    set(sanitizer_flags ${UVHTTP_ASAN_FLAGS})
elseif(UVHTTP_SANITIZER STREQUAL "tsan")
    set(sanitizer_flags -fsanitize=thread -fno-omit-frame-pointer)
elseif(UVHTTP_SANITIZER STREQUAL "fuzz")
    if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
        message(FATAL_ERROR
            "libFuzzer comes with clang: set CMAKE_C_COMPILER=clang (Debian package: clang)")
    endif()
    set(sanitizer_flags -fsanitize=fuzzer-no-link ${UVHTTP_ASAN_FLAGS})
elseif(UVHTTP_SANITIZER)
    message(FATAL_ERROR
        "UVHTTP_SANITIZER is '${UVHTTP_SANITIZER}'; allowed are asan, tsan, fuzz and nothing")
else()
    # An undefined symbol of a shared library is an error of this build, not of its users.
    set(CMAKE_SHARED_LINKER_FLAGS "${CMAKE_SHARED_LINKER_FLAGS} -Wl,-z,defs")
endif()
target_compile_options(uvhttp_flags INTERFACE ${sanitizer_flags})
if(UVHTTP_SANITIZER AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
    # With the code of sanitizers GCC does not know ranges of values, and these two warnings have
    # false positives. Release builds have them.
    target_compile_options(uvhttp_flags INTERFACE -Wno-format-truncation -Wno-maybe-uninitialized)
endif()
target_link_options(uvhttp_flags INTERFACE ${sanitizer_flags})
if(UVHTTP_SANITIZER AND BUILD_WITH_MIMALLOC)
    message(FATAL_ERROR "A sanitizer has its own allocator: add -DBUILD_WITH_MIMALLOC=OFF")
endif()

# System libraries. A missing one ends the configuration with the name of its Debian package.

find_package(PkgConfig)
if(NOT PkgConfig_FOUND)
    message(FATAL_ERROR "pkg-config is missing (Debian package: pkg-config)")
endif()
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

# uvhttp_require(<prefix> <pkg-config module with version> <Debian package>): the target
# PkgConfig::<prefix>.
function(uvhttp_require prefix module package)
    pkg_check_modules(${prefix} IMPORTED_TARGET GLOBAL "${module}")
    if(NOT ${prefix}_FOUND)
        message(FATAL_ERROR "${module} is missing (Debian package: ${package})")
    endif()
endfunction()

uvhttp_require(UVHTTP_LIBUV "libuv>=1.44" libuv1-dev)

# xxHash is compiled into the file that uses it, so only its header is needed.
uvhttp_require(UVHTTP_XXHASH "libxxhash" libxxhash-dev)
add_library(uvhttp_xxhash INTERFACE)
target_include_directories(uvhttp_xxhash SYSTEM INTERFACE ${UVHTTP_XXHASH_INCLUDE_DIRS})

# Debian's mimalloc has a CMake package, but no pkg-config file.
add_library(uvhttp_mimalloc INTERFACE)
if(BUILD_WITH_MIMALLOC)
    find_package(mimalloc QUIET)
    if(NOT mimalloc_FOUND)
        message(FATAL_ERROR
            "mimalloc is missing (Debian package: libmimalloc-dev; or -DBUILD_WITH_MIMALLOC=OFF)")
    endif()
    target_link_libraries(uvhttp_mimalloc INTERFACE mimalloc)
    target_compile_definitions(uvhttp_mimalloc INTERFACE UVH_WITH_MIMALLOC)
endif()

# OpenSSL: libcrypto for HMAC and SHA-2, libssl for TLS. Each is on if it is found. TLS needs both.
pkg_check_modules(UVHTTP_OPENSSL QUIET IMPORTED_TARGET GLOBAL "libssl>=3.0" "libcrypto>=3.0")
pkg_check_modules(UVHTTP_LIBCRYPTO QUIET IMPORTED_TARGET GLOBAL "libcrypto>=3.0")
option(BUILD_WITH_HTTPS "Use OpenSSL: TLS" ${UVHTTP_OPENSSL_FOUND})
option(BUILD_WITH_LIBCRYPTO
    "Use OpenSSL's libcrypto: signed cookies, the cache of passwords, digests of uploads"
    ${UVHTTP_LIBCRYPTO_FOUND})
add_library(uvhttp_openssl INTERFACE)
if(BUILD_WITH_HTTPS)
    uvhttp_require(UVHTTP_LIBSSL "libssl>=3.0" libssl-dev)
    if(NOT BUILD_WITH_LIBCRYPTO)
        message(FATAL_ERROR "BUILD_WITH_HTTPS needs BUILD_WITH_LIBCRYPTO")
    endif()
    target_link_libraries(uvhttp_openssl INTERFACE PkgConfig::UVHTTP_OPENSSL)
endif()
if(BUILD_WITH_LIBCRYPTO)
    uvhttp_require(UVHTTP_LIBCRYPTO "libcrypto>=3.0" libssl-dev)
    target_link_libraries(uvhttp_openssl INTERFACE PkgConfig::UVHTTP_LIBCRYPTO)
    target_compile_definitions(uvhttp_openssl INTERFACE UVH_WITH_LIBCRYPTO)
endif()

# brotli, zstd and zlib, for compressed responses; on if all three are found.
set(UVHTTP_COMPRESSION_MODULES "libbrotlienc>=1.0.7" "libzstd>=1.4.5" "zlib>=1.2.9")
pkg_check_modules(UVHTTP_COMPRESSION QUIET IMPORTED_TARGET GLOBAL ${UVHTTP_COMPRESSION_MODULES})
option(BUILD_WITH_COMPRESSION "Use brotli, zstd and zlib: compressed responses"
    ${UVHTTP_COMPRESSION_FOUND})
add_library(uvhttp_compression INTERFACE)
if(BUILD_WITH_COMPRESSION)
    uvhttp_require(UVHTTP_BROTLI "libbrotlienc>=1.0.7" libbrotli-dev)
    uvhttp_require(UVHTTP_ZSTD "libzstd>=1.4.5" libzstd-dev)
    uvhttp_require(UVHTTP_ZLIB "zlib>=1.2.9" zlib1g-dev)
    target_link_libraries(uvhttp_compression INTERFACE PkgConfig::UVHTTP_COMPRESSION)
    target_compile_definitions(uvhttp_compression INTERFACE UVH_WITH_COMPRESSION)
endif()

# crypt(3) of libxcrypt, for hashed passwords; on if it is found.
pkg_check_modules(UVHTTP_LIBCRYPT QUIET IMPORTED_TARGET GLOBAL "libxcrypt>=4.3")
option(BUILD_WITH_CRYPT "Use libxcrypt: hashed passwords" ${UVHTTP_LIBCRYPT_FOUND})
add_library(uvhttp_libcrypt INTERFACE)
if(BUILD_WITH_CRYPT)
    uvhttp_require(UVHTTP_LIBCRYPT "libxcrypt>=4.3" libcrypt-dev)
    target_link_libraries(uvhttp_libcrypt INTERFACE PkgConfig::UVHTTP_LIBCRYPT)
    target_compile_definitions(uvhttp_libcrypt INTERFACE UVH_WITH_CRYPT)
endif()

# libseccomp, for `confine` of the program; on if it is found.
pkg_check_modules(UVHTTP_LIBSECCOMP QUIET IMPORTED_TARGET GLOBAL "libseccomp>=2.5")
option(BUILD_WITH_SECCOMP "Use libseccomp: the option confine of the program"
    ${UVHTTP_LIBSECCOMP_FOUND})
add_library(uvhttp_seccomp INTERFACE)
if(BUILD_WITH_SECCOMP)
    uvhttp_require(UVHTTP_LIBSECCOMP "libseccomp>=2.5" libseccomp-dev)
    target_link_libraries(uvhttp_seccomp INTERFACE PkgConfig::UVHTTP_LIBSECCOMP)
endif()

# md4c, for the README of a directory listing; on if it is found.
pkg_check_modules(UVHTTP_MD4C QUIET IMPORTED_TARGET GLOBAL "md4c>=0.4.7")
option(BUILD_WITH_MARKDOWN "Use md4c: Markdown in directory listings" ${UVHTTP_MD4C_FOUND})
add_library(uvhttp_markdown INTERFACE)
if(BUILD_WITH_MARKDOWN)
    uvhttp_require(UVHTTP_MD4C "md4c>=0.4.7" libmd4c-dev)
    target_link_libraries(uvhttp_markdown INTERFACE PkgConfig::UVHTTP_MD4C)
    target_compile_definitions(uvhttp_markdown INTERFACE UVH_WITH_MARKDOWN)
endif()

# hiredis, for topics over Redis; on if it is found.
pkg_check_modules(UVHTTP_HIREDIS QUIET IMPORTED_TARGET GLOBAL "hiredis>=0.14")
option(BUILD_WITH_REDIS "Build uvhttp_redis: topics over Redis" ${UVHTTP_HIREDIS_FOUND})
if(BUILD_WITH_REDIS)
    uvhttp_require(UVHTTP_HIREDIS "hiredis>=0.14" libhiredis-dev)
endif()

# The program, the examples and the benchmarks. They are built in dist/bin of the build directory,
# with the name of their source file.

set(UVHTTP_BIN_DIR ${CMAKE_BINARY_DIR}/dist/bin)

file(GLOB app_sources CONFIGURE_DEPENDS app/*.c)
if(app_sources)
    # For the configuration of `uvhttp run`; the library does not need it.
    uvhttp_require(UVHTTP_LIBYAML "yaml-0.1" libyaml-dev)
    # Sources that read or make certificates need OpenSSL.
    if(BUILD_WITH_HTTPS)
        list(FILTER app_sources EXCLUDE REGEX "/no_openssl\\.c$")
    else()
        list(FILTER app_sources EXCLUDE REGEX
            "/(certificate|cert_report|self_signed|tls_advice)\\.c$")
    endif()
    if(BUILD_WITH_CRYPT)
        list(FILTER app_sources EXCLUDE REGEX "/no_crypt\\.c$")
    else()
        list(FILTER app_sources EXCLUDE REGEX "/hash_make\\.c$")
    endif()
    if(BUILD_WITH_SECCOMP)
        list(FILTER app_sources EXCLUDE REGEX "/no_confine\\.c$")
    else()
        list(FILTER app_sources EXCLUDE REGEX
            "/(confine|confine_paths|landlock|seccomp_calls)\\.c$")
    endif()
    add_executable(uvhttp_program ${app_sources})
    target_link_libraries(uvhttp_program PRIVATE uvhttp_flags uvhttp_static
        PkgConfig::UVHTTP_LIBYAML uvhttp_openssl uvhttp_seccomp)
    # What `uvhttp --version` lists.
    set(features "")
    foreach(feature tls:BUILD_WITH_HTTPS compression:BUILD_WITH_COMPRESSION
            passwords:BUILD_WITH_CRYPT confine:BUILD_WITH_SECCOMP)
        string(REPLACE ":" ";" feature ${feature})
        list(GET feature 0 name)
        list(GET feature 1 option)
        if(${option})
            string(APPEND features " ${name}")
        endif()
    endforeach()
    set_source_files_properties(app/main.c PROPERTIES
        COMPILE_DEFINITIONS "UVH_FEATURES=\"${features}\"")
    set_target_properties(uvhttp_program PROPERTIES OUTPUT_NAME uvhttp RUNTIME_OUTPUT_DIRECTORY
        ${UVHTTP_BIN_DIR})
endif()

# The large file of the sample site (examples, tests, `./dev serve`) is generated, not stored.
set(UVHTTP_LARGE_FILE ${PROJECT_SOURCE_DIR}/examples/site/large.txt)
add_custom_command(OUTPUT ${UVHTTP_LARGE_FILE}
    COMMAND ${CMAKE_COMMAND} -D FILE=${UVHTTP_LARGE_FILE}
            -P ${PROJECT_SOURCE_DIR}/cmake/large_file.cmake
    DEPENDS ${PROJECT_SOURCE_DIR}/cmake/large_file.cmake
    COMMENT "Writing examples/site/large.txt" VERBATIM)
add_custom_target(example_site ALL DEPENDS ${UVHTTP_LARGE_FILE})
if(TARGET uvhttp_program)
    add_dependencies(uvhttp_program example_site)
endif()

# The page of the example notes is next to its programs.
foreach(directory ${UVHTTP_BIN_DIR} ${UVHTTP_BIN_DIR}/cpp)
    file(MAKE_DIRECTORY ${directory})
    file(CREATE_LINK ${PROJECT_SOURCE_DIR}/examples/public ${directory}/public SYMBOLIC)
endforeach()

# For examples with JSON, which are left out without it.
pkg_check_modules(UVHTTP_CJSON QUIET IMPORTED_TARGET libcjson)
pkg_check_modules(UVHTTP_NLOHMANN_JSON QUIET IMPORTED_TARGET nlohmann_json)

# uvhttp_add_example(<target> <name of the program> <source> <subdirectory of the programs>)
function(uvhttp_add_example target name source directory)
    file(STRINGS ${source} needs_cjson REGEX "^#include <cjson/")
    if(needs_cjson AND NOT UVHTTP_CJSON_FOUND)
        message(STATUS "${name} is not built: cJSON is missing (Debian package: libcjson-dev)")
        return()
    endif()
    file(STRINGS ${source} needs_nlohmann REGEX "^#include <nlohmann/")
    if(needs_nlohmann AND NOT UVHTTP_NLOHMANN_JSON_FOUND)
        message(STATUS "${name} in C++ is not built: nlohmann-json is missing (Debian package: "
            "nlohmann-json3-dev)")
        return()
    endif()
    add_executable(${target} ${source})
    if(name MATCHES "^parse_")
        target_link_libraries(${target} PRIVATE uvhttp_flags uvhttp_parser_static)
    else()
        # Handlers rarely need all of their arguments, and (void) lines would distract from the
        # example.
        target_compile_options(${target} PRIVATE -Wno-unused-parameter)
        target_link_libraries(${target} PRIVATE uvhttp_flags uvhttp_static)
    endif()
    if(needs_cjson)
        target_link_libraries(${target} PRIVATE PkgConfig::UVHTTP_CJSON)
    endif()
    if(needs_nlohmann)
        target_link_libraries(${target} PRIVATE PkgConfig::UVHTTP_NLOHMANN_JSON)
    endif()
    set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY
        ${UVHTTP_BIN_DIR}/${directory})
endfunction()

file(GLOB example_sources CONFIGURE_DEPENDS examples/*.c)
if(UVHTTP_HAVE_CXX)
    file(GLOB cpp_example_sources CONFIGURE_DEPENDS examples/*.cpp)
    list(APPEND example_sources ${cpp_example_sources})
    if(NOT UVHTTP_SANITIZER)
        # The same examples in C++, in dist/bin/cpp. Their tests run with the release build only,
        # the tests of uvhttp.hpp with all builds.
        file(GLOB cpp_example_sources CONFIGURE_DEPENDS examples/cpp/*.cpp)
        list(APPEND example_sources ${cpp_example_sources})
    endif()
endif()
uvhttp_without_websocket(example_sources)
foreach(source ${example_sources})
    get_filename_component(name ${source} NAME_WE)
    if(source MATCHES "/examples/cpp/")
        uvhttp_add_example(example_cpp_${name} ${name} ${source} cpp)
    else()
        uvhttp_add_example(example_${name} ${name} ${source} .)
    endif()
endforeach()

# The steps of docs/tutorial: tutorial_step1 and so on.
file(GLOB tutorial_sources CONFIGURE_DEPENDS docs/tutorial/*.c)
uvhttp_without_websocket(tutorial_sources)
foreach(source ${tutorial_sources})
    get_filename_component(name ${source} NAME_WE)
    uvhttp_add_example(tutorial_${name} tutorial_${name} ${source} .)
endforeach()

string(TOUPPER "${CMAKE_BUILD_TYPE}" bench_flags_type)
file(GLOB bench_sources CONFIGURE_DEPENDS bench/*.c)
uvhttp_without_websocket(bench_sources)
if(NOT BUILD_WITH_HTTPS)
    list(FILTER bench_sources EXCLUDE REGEX "/tls_load\\.c$")
endif()
# The WebSocket load generator decompresses messages.
pkg_check_modules(UVHTTP_BENCH_ZLIB QUIET IMPORTED_TARGET zlib)
if(NOT UVHTTP_BENCH_ZLIB_FOUND)
    list(FILTER bench_sources EXCLUDE REGEX "/websocket_load\\.c$")
endif()
foreach(source ${bench_sources})
    get_filename_component(name ${source} NAME_WE)
    add_executable(bench_${name} ${source})
    target_link_libraries(bench_${name} PRIVATE uvhttp_flags)
    set_target_properties(bench_${name} PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY
        ${UVHTTP_BIN_DIR})
    if(name MATCHES "parser")
        # The parser is a separate library, which these programs link without the others.
        target_link_libraries(bench_${name} PRIVATE uvhttp_parser_static ${CMAKE_DL_LIBS})
        target_compile_definitions(bench_${name} PRIVATE
            UVH_VERSION="${PROJECT_VERSION}" UVH_COMPILER="${UVHTTP_COMPILER}"
            UVH_BUILD_TYPE="${UVHTTP_BUILD_TYPE}"
            UVH_FLAGS="${CMAKE_C_FLAGS_${bench_flags_type}}")
    else()
        target_link_libraries(bench_${name} PRIVATE PkgConfig::UVHTTP_LIBUV Threads::Threads)
        target_compile_definitions(bench_${name} PRIVATE
            UVH_FLAGS="${CMAKE_C_FLAGS_${bench_flags_type}}")
        # The floors measure the system without uvhttp and its allocator, and load generators must
        # not share errors with it.
        if(NOT name MATCHES "^floor|_load$")
            target_link_libraries(bench_${name} PRIVATE uvhttp_static)
        endif()
    endif()
    # The router has no public function for a lookup, so its benchmark includes internal headers, as
    # unit tests do.
    if(name MATCHES "^router")
        target_include_directories(bench_${name} PRIVATE src)
        target_compile_definitions(bench_${name} PRIVATE
            UVH_VERSION="${PROJECT_VERSION}" UVH_COMPILER="${UVHTTP_COMPILER}"
            UVH_BUILD_TYPE="${UVHTTP_BUILD_TYPE}")
    endif()
endforeach()
target_link_libraries(bench_open_load PRIVATE m)
if(TARGET bench_websocket_load)
    target_link_libraries(bench_websocket_load PRIVATE PkgConfig::UVHTTP_BENCH_ZLIB)
endif()
if(BUILD_WITH_HTTPS)
    target_link_libraries(bench_tls_load PRIVATE PkgConfig::UVHTTP_OPENSSL)
endif()
set_target_properties(bench_b3_http_parser PROPERTIES OUTPUT_NAME B3-HttpParser)

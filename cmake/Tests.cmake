# Tests written in C and C++, run by ctest: cmocka programs (labels unit, vectors, faults, budget)
# and the replay of every fuzz corpus (label fuzz). `./dev test` runs these and the tests in Python.

enable_testing()

# Sanitizer findings end the test. These options check more than the defaults.
set(test_environment
    "CMOCKA_MESSAGE_OUTPUT=STDOUT"
    "ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1"
    "UBSAN_OPTIONS=print_stacktrace=1"
    "TSAN_OPTIONS=halt_on_error=1")

# The NEON back end on processors without NEON, by SIMDe: only in the programs that compare back
# ends. These objects take precedence over those of the library.
set(emulated_backend "")
if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)")
    find_path(UVHTTP_SIMDE_INCLUDE_DIR simde/arm/neon.h)
    if(UVHTTP_SIMDE_INCLUDE_DIR)
        uvhttp_add_objects(uvhttp_emulated_backend src/codec/http1/backend.c
            src/codec/http1/parser_neon.c
            src/codec/simd/payload_neon.c)
        target_compile_definitions(uvhttp_emulated_backend PUBLIC UVH_NEON_EMULATED)
        target_include_directories(uvhttp_emulated_backend PRIVATE tests/support/emulated)
        target_include_directories(uvhttp_emulated_backend SYSTEM PRIVATE
            ${UVHTTP_SIMDE_INCLUDE_DIR})
        set(emulated_backend uvhttp_emulated_backend)
    else()
        message(STATUS
            "The NEON back end is not tested: SIMDe is missing (Debian package: libsimde-dev)")
    endif()
endif()

# The parser of configuration files is part of the program, not of a library.
file(GLOB config_sources CONFIGURE_DEPENDS app/config_*.c)
uvhttp_require(UVHTTP_LIBYAML "yaml-0.1" libyaml-dev)
uvhttp_add_objects(uvhttp_config_objects ${config_sources} app/absolute_path.c app/address.c
    app/client_rules.c app/error_pages.c app/expand.c app/log_path.c app/mapping.c app/named_files.c
    app/option_hint.c app/option_table.c app/option_text.c app/options.c app/placeholder_hint.c
    app/print_config.c app/problems.c app/suggest.c app/user_id.c app/utf8.c app/yaml_reader.c)
target_link_libraries(uvhttp_config_objects PRIVATE PkgConfig::UVHTTP_LIBYAML)

if(NOT UVHTTP_SANITIZER STREQUAL "fuzz")
    uvhttp_require(UVHTTP_CMOCKA "cmocka" libcmocka-dev)
    file(GLOB support_sources CONFIGURE_DEPENDS tests/support/*.c)
    if(support_sources)
        add_library(uvhttp_test_support OBJECT ${support_sources})
        target_include_directories(uvhttp_test_support PRIVATE include src tests)
        target_link_libraries(uvhttp_test_support
            PRIVATE uvhttp_flags uvhttp_mimalloc PkgConfig::UVHTTP_LIBUV PkgConfig::UVHTTP_CMOCKA)
    endif()

    if(BUILD_WITH_COMPRESSION) # tests decompress the output of the library
        uvhttp_require(UVHTTP_BROTLI_DECODER "libbrotlidec" libbrotli-dev)
    endif()
    foreach(kind unit vectors faults budget)
        file(GLOB test_sources CONFIGURE_DEPENDS tests/${kind}/test_*.c tests/${kind}/test_*.cpp)
        uvhttp_without_websocket(test_sources)
        if(NOT BUILD_WITH_REDIS)
            list(FILTER test_sources EXCLUDE REGEX "redis\\.c$")
        endif()
        if(NOT BUILD_WITH_HTTPS)
            list(FILTER test_sources EXCLUDE REGEX "/test_tls_")
        endif()
        foreach(source ${test_sources})
            get_filename_component(name ${source} NAME_WE)
            set(target ${kind}_${name})
            add_executable(${target} ${source})
            if(support_sources)
                target_sources(${target} PRIVATE $<TARGET_OBJECTS:uvhttp_test_support>)
            endif()
            if(target MATCHES "^unit_test_codec|^vectors")
                target_link_libraries(${target} PRIVATE ${emulated_backend})
            endif()
            if(name STREQUAL "test_config_file")
                target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
                target_link_libraries(${target} PRIVATE uvhttp_config_objects
                    PkgConfig::UVHTTP_LIBYAML)
                target_link_options(${target} PRIVATE -Wl,--wrap=malloc,--wrap=calloc)
            endif()
            if(name MATCHES "compress|deflate" AND BUILD_WITH_COMPRESSION)
                target_link_libraries(${target} PRIVATE PkgConfig::UVHTTP_COMPRESSION
                    PkgConfig::UVHTTP_BROTLI_DECODER)
            endif()
            if(name MATCHES "redis")
                target_link_libraries(${target} PRIVATE uvhttp_redis_static)
            endif()
            target_include_directories(${target} PRIVATE src tests)
            # For test data, independent of the working directory.
            target_compile_definitions(${target} PRIVATE
                UVHTTP_TESTS_DIR="${PROJECT_SOURCE_DIR}/tests"
                UVHTTP_TESTS_HTTPS=$<BOOL:${BUILD_WITH_HTTPS}>
                UVHTTP_TESTS_LIBCRYPTO=$<BOOL:${BUILD_WITH_LIBCRYPTO}>
                UVHTTP_TESTS_COMPRESSION=$<BOOL:${BUILD_WITH_COMPRESSION}>
                UVHTTP_TESTS_MARKDOWN=$<BOOL:${BUILD_WITH_MARKDOWN}>)
            target_link_libraries(${target} PRIVATE uvhttp_flags uvhttp_static uvhttp_mimalloc
                PkgConfig::UVHTTP_CMOCKA)
            set_target_properties(${target} PROPERTIES
                OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/${kind})
            add_test(NAME ${kind}/${name} COMMAND ${target} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
            # The timeout is for tests that hang; no test depends on it.
            set_tests_properties(${kind}/${name} PROPERTIES LABELS ${kind} TIMEOUT 900 ENVIRONMENT
                "${test_environment}")
        endforeach()
    endforeach()

    # Servers for the wire tests, in the directory of the programs.
    file(GLOB wire_server_sources CONFIGURE_DEPENDS tests/wire/server/*.c)
    uvhttp_without_websocket(wire_server_sources)
    if(wire_server_sources)
        add_executable(wire_server ${wire_server_sources})
        if(BUILD_WITH_WEBSOCKET)
            target_compile_definitions(wire_server PRIVATE UVHTTP_TESTS_WEBSOCKET)
        endif()
        target_link_libraries(wire_server PRIVATE uvhttp_flags uvhttp_static
            PkgConfig::UVHTTP_LIBUV)
        set_target_properties(wire_server PROPERTIES RUNTIME_OUTPUT_DIRECTORY
            ${CMAKE_BINARY_DIR}/dist/bin)
        # Servers with several threads.
        foreach(server workers_server tls_server)
            add_executable(${server} tests/wire/${server}.c)
            target_link_libraries(${server} PRIVATE uvhttp_flags uvhttp_static
                PkgConfig::UVHTTP_LIBUV Threads::Threads)
            set_target_properties(${server} PROPERTIES RUNTIME_OUTPUT_DIRECTORY
                ${CMAKE_BINARY_DIR}/dist/bin)
        endforeach()
    endif()
    # Topics, with and without a broker; TLS as a client.
    if(BUILD_WITH_WEBSOCKET)
        add_executable(tls_client tests/wire/tls_client.c)
        target_link_libraries(tls_client PRIVATE uvhttp_flags uvhttp_static PkgConfig::UVHTTP_LIBUV)
        set_target_properties(tls_client PROPERTIES RUNTIME_OUTPUT_DIRECTORY
            ${CMAKE_BINARY_DIR}/dist/bin)
        add_executable(topics_server tests/wire/topics_server.c)
        target_compile_definitions(topics_server PRIVATE
            UVHTTP_TESTS_REDIS=$<BOOL:${BUILD_WITH_REDIS}>)
        target_link_libraries(topics_server PRIVATE uvhttp_flags
            $<$<BOOL:${BUILD_WITH_REDIS}>:uvhttp_redis_static>
            uvhttp_static)
        set_target_properties(topics_server PROPERTIES RUNTIME_OUTPUT_DIRECTORY
            ${CMAKE_BINARY_DIR}/dist/bin)
    endif()

    # An application for `./dev operations`.
    if(BUILD_WITH_WEBSOCKET)
        add_executable(operations_instance tests/operations/instance.c)
        target_link_libraries(operations_instance PRIVATE uvhttp_flags uvhttp_static)
        set_target_properties(operations_instance PROPERTIES RUNTIME_OUTPUT_DIRECTORY
            ${CMAKE_BINARY_DIR}/dist/bin)
    endif()

    # Programs for the conformance suites of `./dev conformance`.
    if(BUILD_WITH_WEBSOCKET)
        foreach(name ws_echo_server ws_echo_client)
            add_executable(${name} tests/conformance/${name}.c)
            target_link_libraries(${name} PRIVATE uvhttp_flags uvhttp_static)
            set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY
                ${CMAKE_BINARY_DIR}/dist/bin)
        endforeach()
    endif()
endif()

file(GLOB fuzz_sources CONFIGURE_DEPENDS tests/fuzz/fuzz_*.c)
uvhttp_without_websocket(fuzz_sources)
if(NOT BUILD_WITH_HTTPS)
    list(FILTER fuzz_sources EXCLUDE REGEX "/fuzz_tls\\.c$")
endif()
# The HPACK decoder is compared with that of libnghttp2.
pkg_check_modules(UVHTTP_NGHTTP2 QUIET IMPORTED_TARGET libnghttp2)
if(NOT UVHTTP_NGHTTP2_FOUND)
    list(FILTER fuzz_sources EXCLUDE REGEX "/fuzz_hpack\\.c$")
    message(STATUS
        "HPACK is not compared: libnghttp2 is missing (Debian package: libnghttp2-dev)")
endif()
foreach(source ${fuzz_sources})
    get_filename_component(target ${source} NAME_WE)
    string(REGEX REPLACE "^fuzz_" "" name ${target})
    add_executable(${target} ${source})
    target_include_directories(${target} PRIVATE src tests)
    target_link_libraries(${target} PRIVATE uvhttp_flags ${emulated_backend} uvhttp_static)
    if(name STREQUAL "config")
        target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
        target_link_libraries(${target} PRIVATE uvhttp_config_objects PkgConfig::UVHTTP_LIBYAML)
    endif()
    if(name STREQUAL "hpack")
        target_link_libraries(${target} PRIVATE PkgConfig::UVHTTP_NGHTTP2)
    endif()
    if(UVHTTP_SANITIZER STREQUAL "fuzz")
        target_link_options(${target} PRIVATE -fsanitize=fuzzer)
    else()
        target_sources(${target} PRIVATE tests/fuzz/replay_main.c)
        add_test(NAME fuzz/${name} COMMAND ${target}
            ${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/${name})
        set_tests_properties(fuzz/${name} PROPERTIES LABELS fuzz TIMEOUT 900 ENVIRONMENT
            "${test_environment}")
    endif()
    set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY
        ${CMAKE_BINARY_DIR}/tests/fuzz)
endforeach()

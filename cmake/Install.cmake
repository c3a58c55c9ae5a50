# cmake --install: libraries, headers, the program, manual pages, completions for shells, pkg-config
# files and the CMake package.

include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/uvhttp)
set_target_properties(uvhttp_parser PROPERTIES EXPORT_NAME parser)
set_target_properties(uvhttp_parser_static PROPERTIES EXPORT_NAME parser_static)

install(TARGETS uvhttp uvhttp_parser uvhttp_parser_static EXPORT uvhttp-targets)
# Separate, because only users of the static library need libuv.
install(TARGETS uvhttp_static EXPORT uvhttp-static-targets)
install(EXPORT uvhttp-targets NAMESPACE uvhttp:: DESTINATION ${package_dir})
install(EXPORT uvhttp-static-targets NAMESPACE uvhttp:: DESTINATION ${package_dir})
if(BUILD_WITH_REDIS)
    set_target_properties(uvhttp_redis PROPERTIES EXPORT_NAME redis)
    set_target_properties(uvhttp_redis_static PROPERTIES EXPORT_NAME redis_static)
    install(TARGETS uvhttp_redis EXPORT uvhttp-targets)
    install(TARGETS uvhttp_redis_static EXPORT uvhttp-redis-static-targets)
    install(EXPORT uvhttp-redis-static-targets NAMESPACE uvhttp:: DESTINATION ${package_dir})
endif()
configure_package_config_file(cmake/uvhttp-config.cmake.in
    ${CMAKE_BINARY_DIR}/package/uvhttp-config.cmake
    INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/package/uvhttp-config-version.cmake
    COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/package/uvhttp-config.cmake
    ${CMAKE_BINARY_DIR}/package/uvhttp-config-version.cmake
    DESTINATION ${package_dir})

# The files contain paths relative to themselves, so that `cmake --install --prefix` and a moved
# directory work.
file(RELATIVE_PATH pc_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" pc_prefix "${pc_prefix}")
set(pc_private_libs "")
if(BUILD_WITH_MIMALLOC)
    set(pc_private_libs "-lmimalloc ")
endif()
set(pc_private_modules "")
if(BUILD_WITH_HTTPS)
    string(APPEND pc_private_modules ", libssl >= 3.0")
endif()
if(BUILD_WITH_LIBCRYPTO)
    string(APPEND pc_private_modules ", libcrypto >= 3.0")
endif()
if(BUILD_WITH_COMPRESSION)
    string(APPEND pc_private_modules ", libbrotlienc >= 1.0.7, libzstd >= 1.4.5, zlib >= 1.2.9")
endif()
if(BUILD_WITH_CRYPT)
    string(APPEND pc_private_modules ", libxcrypt >= 4.3")
endif()
if(BUILD_WITH_MARKDOWN)
    string(APPEND pc_private_modules ", md4c >= 0.4.7")
endif()
set(pc_names uvhttp uvhttp_parser)
set(absent_headers "")
if(BUILD_WITH_REDIS)
    list(APPEND pc_names uvhttp_redis)
else()
    set(absent_headers PATTERN "redis.h" EXCLUDE)
endif()
foreach(name ${pc_names})
    configure_file(cmake/${name}.pc.in ${CMAKE_BINARY_DIR}/package/${name}.pc @ONLY)
    install(FILES ${CMAKE_BINARY_DIR}/package/${name}.pc DESTINATION
        ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h"
    PATTERN "*.hpp"
    ${absent_headers})
install(FILES CHANGELOG.md CONTRIBUTING.md LICENSE README.md SECURITY.md
    DESTINATION ${CMAKE_INSTALL_DOCDIR})
# The pages that the README and the headers name, and the programs that the pages name.
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} PATTERN sphinx EXCLUDE)
# The configurations that docs/deploy.md describes.
install(DIRECTORY packaging DESTINATION ${CMAKE_INSTALL_DOCDIR} PATTERN "*.sh" EXCLUDE
    PATTERN "*.py" EXCLUDE PATTERN debian EXCLUDE)
# The pages link to headers.
file(RELATIVE_PATH doc_to_include ${CMAKE_INSTALL_FULL_DOCDIR} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
install(CODE "set(link \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DOCDIR}/include\")
file(REMOVE \"\${link}\")
file(CREATE_LINK \"${doc_to_include}\" \"\${link}\" SYMBOLIC)")
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR} PATTERN "__pycache__" EXCLUDE)
if(TARGET uvhttp_program)
    install(TARGETS uvhttp_program)
    install(FILES docs/man/uvhttp.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
    install(FILES packaging/completions/uvhttp.bash RENAME uvhttp
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
    install(FILES packaging/completions/_uvhttp
        DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
    install(FILES packaging/completions/uvhttp.fish
        DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()

# An overlay port of this checkout: vcpkg install uvhttp --overlay-ports=packaging/vcpkg
#
# A port in a registry has vcpkg_from_github or vcpkg_download_distfile here.
get_filename_component(SOURCE_PATH "${CURRENT_PORT_DIR}/../../.." ABSOLUTE)

vcpkg_check_features(OUT_FEATURE_OPTIONS FEATURE_OPTIONS
    FEATURES
        compression BUILD_WITH_COMPRESSION
        crypt       BUILD_WITH_CRYPT
        https       BUILD_WITH_HTTPS
        https       BUILD_WITH_LIBCRYPTO
        markdown    BUILD_WITH_MARKDOWN
        redis       BUILD_WITH_REDIS
        websocket   BUILD_WITH_WEBSOCKET)

# mimalloc would replace the allocator of every program.
vcpkg_cmake_configure(
    SOURCE_PATH "${SOURCE_PATH}"
    OPTIONS ${FEATURE_OPTIONS} -DBUILD_WITH_MIMALLOC=OFF -DUVHTTP_BUILD_EXTRAS=OFF
        -DBUILD_TESTING=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/uvhttp)
vcpkg_fixup_pkgconfig()

file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share"
    "${CURRENT_PACKAGES_DIR}/share/doc" "${CURRENT_PACKAGES_DIR}/share/man")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")

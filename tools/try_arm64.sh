#!/bin/sh
# Runs the tests in C and C++ on an emulated 64-bit ARM processor: tools/try_arm64.sh
# [CTEST-OPTION...]
#
# For Debian 12 on other processors. Compiles uvhttp for AArch64 (Release, without mimalloc) in
# build/arm64 and runs its tests with qemu's user emulation, including the NEON back end. `-L
# vectors` or `-R codec` select tests. The duration does not reflect real hardware. Installs a cross
# compiler and qemu (tools/setup.sh arm64). Libraries come from Debian's packages for arm64, which
# are unpacked into build/arm64/root, so that the system needs no second architecture. The last
# lines are those of ctest.
set -eu

cd "$(dirname "$0")/.."
sh tools/setup.sh arm64
mkdir -p build/arm64/apt/lists/partial build/arm64/apt/cache/archives/partial build/arm64/packages
directory=$PWD/build/arm64
root=$directory/root
libraries=$root/usr/lib/aarch64-linux-gnu

if [ ! -e "$root/complete" ]; then
    echo "== libraries"
    cat >"$directory/apt/apt.conf" <<END
APT::Architecture "arm64";
APT::Architectures "arm64";
APT::Sandbox::User "$(id -un)";
Dir::State "$directory/apt";
Dir::State::status "/dev/null";
Dir::State::lists "$directory/apt/lists";
Dir::Cache "$directory/apt/cache";
END
    (
        cd "$directory/packages"
        export APT_CONFIG="$directory/apt/apt.conf"
        apt-get -q update || : # the available lists may be sufficient
        apt-get -q download libcmocka0 libcmocka-dev libuv1 libuv1-dev libxxhash-dev libssl3 \
            libssl-dev libcrypt1 libcrypt-dev libyaml-0-2 libyaml-dev libbrotli1 libbrotli-dev \
            libzstd1 libzstd-dev zlib1g zlib1g-dev libmd4c0 libmd4c-dev
    ) >"$directory/packages.log" 2>&1 || { tail "$directory/packages.log" >&2; exit 1; }
    for package in "$directory"/packages/*.deb; do dpkg -x "$package" "$root"; done
    touch "$root/complete"
fi

echo "== build"
export PKG_CONFIG_LIBDIR="$libraries/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$root"
{
    cmake -G Ninja -S . -B "$directory/build" -DCMAKE_BUILD_TYPE=Release -DBUILD_WITH_MIMALLOC=OFF \
        -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 \
        -DCMAKE_CROSSCOMPILING_EMULATOR=qemu-aarch64 \
        -DCMAKE_C_COMPILER=aarch64-linux-gnu-gcc -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ &&
        cmake --build "$directory/build"
} >"$directory/build.log" 2>&1 || { tail -n 30 "$directory/build.log" >&2; exit 1; }

echo "== tests"
# For qemu: the paths of the system libraries and of other libraries. For tests: the emulator for
# our programs.
export QEMU_LD_PREFIX=/usr/aarch64-linux-gnu QEMU_SET_ENV="LD_LIBRARY_PATH=$libraries"
export UVHTTP_TEST_EMULATOR=qemu-aarch64
exec ctest --test-dir "$directory/build" --output-on-failure "$@"

#!/bin/sh
# Runs the tests in C and C++ on an emulated 64-bit ARM processor: tools/try_arm64.sh
# [CTEST-OPTION...]
#
# For Debian 12 on another processor. Compiles all of uvhttp for AArch64 (as Release, without
# mimalloc) in build/arm64 and runs its tests by qemu's user emulation, so the real NEON back end is
# among them, on the instructions that it is made of; `-L vectors` or `-R codec` run some of them.
# What the emulation takes says nothing about speed. Installs a cross compiler and qemu
# (tools/setup.sh arm64). The few libraries come from Debian's packages for arm64, which are only
# unpacked, into build/arm64/root: the system learns of no second architecture. The last lines are
# those of ctest.
set -eu

cd "$(dirname "$0")/.."
sh tools/setup.sh arm64
mkdir -p build/arm64/apt/lists/partial build/arm64/apt/cache/archives/partial build/arm64/packages
folder=$PWD/build/arm64
root=$folder/root
libraries=$root/usr/lib/aarch64-linux-gnu

if [ ! -e "$root/complete" ]; then
    echo "== libraries"
    cat >"$folder/apt/apt.conf" <<END
APT::Architecture "arm64";
APT::Architectures "arm64";
APT::Sandbox::User "$(id -un)";
Dir::State "$folder/apt";
Dir::State::status "/dev/null";
Dir::State::lists "$folder/apt/lists";
Dir::Cache "$folder/apt/cache";
END
    (
        cd "$folder/packages"
        export APT_CONFIG="$folder/apt/apt.conf"
        apt-get -q update || : # the lists that came may be enough
        apt-get -q download libcmocka0 libcmocka-dev libuv1 libuv1-dev libxxhash-dev libssl3 \
            libssl-dev libcrypt1 libcrypt-dev libyaml-0-2 libyaml-dev libbrotli1 libbrotli-dev \
            libzstd1 libzstd-dev zlib1g zlib1g-dev
    ) >"$folder/packages.log" 2>&1 || { tail "$folder/packages.log" >&2; exit 1; }
    for package in "$folder"/packages/*.deb; do dpkg -x "$package" "$root"; done
    touch "$root/complete"
fi

echo "== build"
export PKG_CONFIG_LIBDIR="$libraries/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$root"
{
    cmake -G Ninja -S . -B "$folder/build" -DCMAKE_BUILD_TYPE=Release -DBUILD_WITH_MIMALLOC=OFF \
        -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 \
        -DCMAKE_CROSSCOMPILING_EMULATOR=qemu-aarch64 \
        -DCMAKE_C_COMPILER=aarch64-linux-gnu-gcc -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ &&
        cmake --build "$folder/build"
} >"$folder/build.log" 2>&1 || { tail -n 30 "$folder/build.log" >&2; exit 1; }

echo "== tests"
# For qemu: where the system's libraries are, and where to look for the others. For tests: how to
# start a program of ours.
export QEMU_LD_PREFIX=/usr/aarch64-linux-gnu QEMU_SET_ENV="LD_LIBRARY_PATH=$libraries"
export UVHTTP_TEST_EMULATOR=qemu-aarch64
exec ctest --test-dir "$folder/build" --output-on-failure "$@"

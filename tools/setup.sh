#!/bin/sh
# Installs the Debian packages for one of serve, test, packages, bench, bench-alone, conformance,
# conformance-tls, conformance-http2, operations, tidy, docs, arm64, ktls, or for a server to
# compare with (peer-nginx, ...): tools/setup.sh NAME. Called by ./dev, and by
# tools/benchlib/contender.py.
#
# Prints nothing if all packages are installed. Otherwise it installs them as root, or with sudo if
# that needs no password. If neither is possible, it prints the command for an administrator and
# exits with 1. It never removes a package; if apt would, it fails.
set -eu

serve="gcc libc6-dev cmake ninja-build pkg-config libuv1-dev libxxhash-dev libssl-dev libcrypt-dev
    libmimalloc-dev libbrotli-dev libzstd-dev zlib1g-dev libmd4c-dev libseccomp-dev
    libyaml-dev"
test="$serve g++ binutils git libcmocka-dev libsimde-dev clang clang-format libclang-rt-14-dev
    python3 python3-pytest python3-pytest-xdist python3-httpx python3-aiohttp python3-websockets
    python3-yaml python3-html5lib python3-cryptography curl openssl nodejs golang-go strace wrk
    chromium prometheus doxygen mandoc python3-venv libcjson-dev nlohmann-json3-dev brotli zstd
    libhiredis-dev redis-server python3-h2 python3-wsproto nghttp2-client
    libnghttp2-dev haproxy nginx-light logrotate shellcheck zsh fish
    python3-prometheus-client"
bench_alone="$serve libcmocka-dev python3"
# A Node from another source includes npm, which conflicts with npm of the distribution.
if ! command -v npm >/dev/null; then test="$test npm"; fi
# Go and Rust may be installed from another source.
go= cargo=
if ! command -v go >/dev/null; then go=golang-go; fi
if ! command -v cargo >/dev/null; then cargo=cargo; fi

case ${1:-} in
serve) wanted=$serve ;;
test) wanted=$test ;;
# Those that build and try the packages of packaging/.
packages) wanted="$test debhelper lintian fakeroot ccache debootstrap buildah rpm" ;;
bench) wanted="$bench_alone nginx-light wrk openssl" ;;
bench-alone) wanted=$bench_alone ;;
conformance) wanted="$bench_alone python3-venv python3-websockets debian-archive-keyring" ;;
conformance-tls) wanted="$bench_alone sslscan nmap testssl.sh openssl python3-venv" ;;
conformance-http2) wanted="$bench_alone openssl $go" ;;
operations) wanted="$bench_alone haproxy iproute2 wrk curl openssl" ;;
tidy) wanted="$test clang-tidy" ;;
docs) wanted="doxygen mandoc python3 python3-venv" ;;
arm64)
    wanted="cmake ninja-build pkg-config g++-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user"
    ;;
ktls)
    wanted="$bench_alone python3-pytest curl openssl strace qemu-system-x86 busybox-static cpio"
    ;;
# Servers for `./dev bench http` and `./dev bench ws`, installed one by one, so that a missing one
# does not affect the others.
peer-nginx) wanted=nginx-light ;;
peer-h2o) wanted=h2o ;;
peer-libmicrohttpd) wanted="gcc libc6-dev pkg-config libmicrohttpd-dev" ;;
peer-go) wanted=$go ;;
peer-rust) wanted="gcc libc6-dev $cargo" ;;
*)
    echo "usage: tools/setup.sh NAME, which is serve, test, packages, bench, bench-alone," \
        "conformance, conformance-tls, conformance-http2, operations, peer-NAME, tidy, docs," \
        "arm64 or ktls" >&2
    exit 2
    ;;
esac

if ! command -v dpkg-query >/dev/null; then
    echo "This is no Debian system, so nothing is installed. These packages of Debian 12 are" \
        "needed:" $wanted >&2
    exit 0
fi

installed=" $(dpkg-query -W -f '${db:Status-Abbrev}=${Package} ' $wanted 2>/dev/null || :)"
missing=
for package in $wanted; do
    case $installed in
    *" ii =$package "* | *" hi =$package "*) ;;
    *) missing="$missing $package" ;;
    esac
done
if [ -z "$missing" ]; then exit 0; fi

if [ "$(id -u)" = 0 ]; then
    sudo=
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    sudo="sudo -n"
else
    echo "Packages are missing and there is no right to install them. Ask an administrator for:" >&2
    echo >&2
    echo "    apt-get install --no-install-recommends$missing" >&2
    exit 1
fi

echo "Installing:$missing"

# Packages of servers start them. Unless a policy exists, a temporary one prevents that.
policy=/usr/sbin/policy-rc.d
own_policy=
remove_policy() {
    if [ -n "$own_policy" ]; then $sudo rm -f $policy; fi
}
trap remove_policy EXIT
trap 'exit 1' HUP INT TERM
services=
for package in $missing; do
    case $package in
    nginx-light) services="$services nginx.service" ;;
    h2o | haproxy | prometheus | redis-server) services="$services $package.service" ;;
    esac
done
if [ -n "$services" ] && [ ! -e $policy ]; then
    own_policy=yes
    printf '#!/bin/sh\nexit 101\n' | $sudo tee $policy >/dev/null
    $sudo chmod 755 $policy
fi

install_missing() {
    $sudo env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -q --no-remove --no-install-recommends $missing
}

mkdir -p build
log=build/setup.log
# The package lists may be missing or old, so a failed installation is repeated after an update.
if ! install_missing >$log 2>&1; then
    echo "Reading the package lists again"
    if ! { $sudo apt-get update -q && install_missing; } >>$log 2>&1; then
        tail -n 20 $log >&2
        echo "The packages could not be installed; all of the output is in $log." >&2
        exit 1
    fi
fi

# Also prevents a start at boot, because only the program is needed.
if [ -n "$services" ] && [ -d /run/systemd/system ]; then
    $sudo systemctl disable --quiet $services || :
fi

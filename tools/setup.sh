#!/bin/sh
# Installs the Debian packages that one of serve, test, bench, bench-alone, conformance,
# conformance-tls, tidy, docs, arm64, ktls needs, or one of the servers that are compared with
# (peer-nginx, ...): tools/setup.sh NAME. Called by ./dev first thing, and by
# tools/benchlib/contender.py.
#
# Says nothing and asks nobody when all are there. Otherwise installs them as root or by sudo
# without a password; where neither is possible, prints the command to ask an administrator for and
# exits with 1. Never removes a package: then it fails.
set -eu

serve="gcc libc6-dev cmake ninja-build pkg-config libuv1-dev libxxhash-dev libssl-dev libcrypt-dev
    libmimalloc-dev libbrotli-dev libzstd-dev zlib1g-dev libyaml-dev"
test="$serve g++ binutils git libcmocka-dev libsimde-dev clang clang-format libclang-rt-14-dev
    python3 python3-pytest python3-pytest-xdist python3-httpx python3-aiohttp python3-websockets
    python3-yaml python3-html5lib python3-cryptography curl openssl nodejs golang-go strace wrk
    chromium prometheus doxygen mandoc python3-venv libcjson-dev brotli zstd libhiredis-dev
    redis-server"
bench_alone="$serve libcmocka-dev python3"
# A newer Node than the distribution's brings its own npm, which that of the distribution would be
# in conflict with.
if ! command -v npm >/dev/null; then test="$test npm"; fi
conformance="$bench_alone python3-venv python3-websockets debian-archive-keyring"
conformance_tls="$bench_alone sslscan nmap testssl.sh openssl python3-venv"
bench="$bench_alone nginx-light wrk openssl"
# Servers that `./dev bench http` and `./dev bench ws` compare with, each by itself, so that one
# that cannot be had is no reason to miss the others.
peer_nginx="nginx-light"
peer_h2o="h2o"
peer_libmicrohttpd="gcc libc6-dev pkg-config libmicrohttpd-dev"
# Some have a newer one than the distribution's, from elsewhere.
peer_go= peer_rust="gcc libc6-dev"
if ! command -v go >/dev/null; then peer_go=golang-go; fi
if ! command -v cargo >/dev/null; then peer_rust="$peer_rust cargo"; fi
tidy="$test clang-tidy"
docs="doxygen mandoc python3 python3-venv"
arm64="cmake ninja-build pkg-config g++-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user"
ktls="$bench_alone python3-pytest curl openssl strace qemu-system-x86 busybox-static cpio"

case ${1:-} in
serve) wanted=$serve ;;
test) wanted=$test ;;
bench) wanted=$bench ;;
bench-alone) wanted=$bench_alone ;;
conformance) wanted=$conformance ;;
conformance-tls) wanted=$conformance_tls ;;
tidy) wanted=$tidy ;;
docs) wanted=$docs ;;
arm64) wanted=$arm64 ;;
ktls) wanted=$ktls ;;
peer-nginx) wanted=$peer_nginx ;;
peer-h2o) wanted=$peer_h2o ;;
peer-libmicrohttpd) wanted=$peer_libmicrohttpd ;;
peer-go) wanted=$peer_go ;;
peer-rust) wanted=$peer_rust ;;
*)
    echo "usage: tools/setup.sh NAME, which is serve, test, bench, bench-alone, conformance," \
        "conformance-tls, peer-NAME, tidy, docs, arm64 or ktls" >&2
    exit 2
    ;;
esac

if ! command -v dpkg-query >/dev/null; then
    echo "This is no Debian system, so nothing is installed. What Debian 12 calls these packages" \
        "is needed:" $wanted >&2
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

# The package of a server starts it. A policy of our own forbids that while we install, unless one
# exists already.
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
    h2o | prometheus | redis-server) services="$services $package.service" ;;
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
# The package lists may be absent or old, so a failure is tried once more with new ones.
if ! install_missing >$log 2>&1; then
    echo "Reading the package lists again"
    if ! { $sudo apt-get update -q && install_missing; } >>$log 2>&1; then
        tail -n 20 $log >&2
        echo "The packages could not be installed; all of the output is in $log." >&2
        exit 1
    fi
fi

# Nor shall it start with the machine: we only want the program.
if [ -n "$services" ] && [ -d /run/systemd/system ]; then
    $sudo systemctl disable --quiet $services || :
fi

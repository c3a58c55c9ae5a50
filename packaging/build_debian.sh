#!/bin/sh
# Builds the Debian packages of the checkout: packaging/build_debian.sh DIRECTORY [OPTION...]
#
# The packages, their .changes and .buildinfo are then in DIRECTORY. Further options are those of
# dpkg-buildpackage (default: -b, without a source package). Files that git ignores are no part of
# the build. Needs build-essential, and the Build-Depends of packaging/debian/control. With ccache
# a second build takes seconds.
set -eu

if [ $# = 0 ]; then
    echo "usage: $0 DIRECTORY [OPTION...]" >&2
    exit 2
fi
mkdir -p "$1"
directory=$(cd "$1" && pwd)
shift
cd "$(dirname "$0")/.."

version=$(sed -n '1s/.*(\(.*\)-.*/\1/p' packaging/debian/changelog)
source=uvhttp-$version
work=$(mktemp -d "${TMPDIR:-/tmp}/uvhttp-debian-XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

mkdir "$work/$source"
# A file that is deleted but not committed is listed, too.
git ls-files -z -co --exclude-standard |
    tar -c --null --ignore-failed-read --warning=no-failed-read -T - | tar -x -C "$work/$source"
tar -c -C "$work" "$source" | gzip -1 >"$work/uvhttp_$version.orig.tar.gz"
cp -r packaging/debian "$work/$source/"

if command -v ccache >/dev/null; then
    DEB_CMAKE_OPTIONS=-DCMAKE_C_COMPILER_LAUNCHER=ccache
    CCACHE_BASEDIR=$work CCACHE_NOHASHDIR=1
    export DEB_CMAKE_OPTIONS CCACHE_BASEDIR CCACHE_NOHASHDIR
fi
if [ $# = 0 ]; then set -- -b; fi
(cd "$work/$source" && dpkg-buildpackage -us -uc "$@")
rm -rf "${work:?}/$source"
cp "$work"/* "$directory"

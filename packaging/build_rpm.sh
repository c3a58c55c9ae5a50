#!/bin/sh
# Builds the RPM packages of the checkout: packaging/build_rpm.sh DIRECTORY
#
# On Fedora and its relatives it needs rpm-build and the BuildRequires of the spec. On Debian, with
# the package rpm and those of `./dev setup`, it checks the spec: the packages then lack what macros
# of systemd do when they are installed.
set -eu

if [ $# != 1 ]; then
    echo "usage: $0 DIRECTORY" >&2
    exit 2
fi
mkdir -p "$1"
directory=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
version=$(sed -n 's/^Version: *//p' packaging/rpm/uvhttp.spec)
work=$(mktemp -d "${TMPDIR:-/tmp}/uvhttp-rpm-XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

mkdir "$work/SOURCES"
git ls-files -z -co --exclude-standard |
    tar -c --null --ignore-failed-read --warning=no-failed-read \
        --transform "s,^,uvhttp-$version/," -T - | gzip -1 >"$work/SOURCES/uvhttp-$version.tar.gz"
set -- --define "_topdir $work"
if [ -e /etc/debian_version ]; then
    set -- "$@" --nodeps --define "_unitdir /usr/lib/systemd/system" \
        --define "_sysusersdir /usr/lib/sysusers.d" --define "systemd_post() : %*" \
        --define "systemd_preun() : %*" --define "systemd_postun_with_restart() : %*" \
        --define "debug_package %{nil}"
fi
rpmbuild -ba "$@" packaging/rpm/uvhttp.spec
cp "$work"/SRPMS/*.rpm "$work"/RPMS/*/*.rpm "$directory"

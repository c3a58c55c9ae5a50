# Sourced by packaging/try_debian.sh and packaging/try_systemd.sh, in the directory of the checkout:
# a tree of Debian 12 in $tree with the packages in /packages. A file of $work is temporary.
# shellcheck shell=sh

if [ "$(id -u)" != 0 ]; then
    echo "$0: chroot needs root" >&2
    exit 1
fi
packages=${1:-}
tree=${2:-}
work=$(mktemp -d "${TMPDIR:-/tmp}/uvhttp-try-XXXXXX")
if [ -z "$tree" ]; then tree=$work/tree; fi
mkdir -p "$tree"
tree=$(cd "$tree" && pwd)
chmod 755 "$work" "$tree"

end_process() { :; }
clean_up() {
    end_process
    for mounted in dev/shm proc; do umount "$tree/$mounted" 2>/dev/null || :; done
    if mountpoint -q "$tree/proc"; then return; fi
    rm -rf "$tree/packages" "$work"
}
trap clean_up EXIT
trap 'exit 1' HUP INT TERM

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

inside() {
    chroot "$tree" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
        DEBIAN_FRONTEND=noninteractive "$@"
}

# Runs a command whose output appears only if it fails.
quietly() {
    "$@" >"$work/quietly.log" 2>&1 || { tail -n 40 "$work/quietly.log" >&2; fail "$*"; }
}

apt() {
    quietly inside apt-get -y -q --no-install-recommends "$@"
}

if [ -z "$packages" ]; then
    packages=$work/packages
    echo "== building the packages"
    quietly packaging/build_debian.sh "$packages"
fi

# That of this machine.
mirror=$(apt-get indextargets --format "\$(SITE)" 'Created-By: Packages' |
    grep '/debian$' | sort | uniq -c | sort -rn | awk 'NR == 1 { print $2 }')
if [ ! -e "$tree/etc/debian_version" ]; then
    echo "== debootstrap"
    quietly debootstrap --variant=minbase bookworm "$tree" "$mirror"
fi
cat >"$tree/etc/apt/sources.list" <<END
deb $mirror bookworm main
deb $mirror bookworm-updates main
deb ${mirror%/debian}/debian-security bookworm-security main
END
cp /etc/resolv.conf "$tree/etc/resolv.conf"
# Packages must not start their services during the installation.
printf '#!/bin/sh\nexit 101\n' >"$tree/usr/sbin/policy-rc.d"
chmod 755 "$tree/usr/sbin/policy-rc.d"
mkdir -p "$tree/dev/shm" "$tree/packages/new"
mount -t proc proc "$tree/proc"
mount -t tmpfs tmpfs "$tree/dev/shm"
find "$packages" -name '*.deb' ! -name '*-dbgsym_*' -exec cp {} "$tree/packages/new" \;

# install_needs PACKAGE...: what our packages need, and others.
install_needs() {
    needs=$(echo "$*" | tr ' ' ',')
    for package in "$tree"/packages/new/*.deb; do
        needs="$needs, $(dpkg-deb -f "$package" Depends)"
    done
    apt update
    apt satisfy "$(echo "$needs" | tr ',' '\n' | grep -v -e uvhttp -e '^ *$' | paste -s -d ,)"
}

# The names of all files, and the users.
snapshot() {
    find "$tree" -xdev \( -path "$tree/proc" -o -path "$tree/dev" -o -path "$tree/packages" \
        -o -path "$tree/tmp" -o -path "$tree/var/tmp" -o -path "$tree/var/cache/apt" \
        -o -path "$tree/run" -o -path "$tree/var/log/journal" \) -prune -o -printf '%P\n' | sort
    cat "$tree/etc/passwd" "$tree/etc/group"
}

# The difference of two snapshots must be logs and lists of the package manager.
check_nothing_left() {
    left=$(diff "$1" "$2" | grep '^[<>]' |
        grep -v '^[<>] var/\(log/\(apt\|dpkg\)\|lib/dpkg/\(available\|status\)\|cache/ldconfig\)' ||
        :)
    if [ -n "$left" ]; then
        echo "$left" >&2
        fail "files are left"
    fi
    echo "nothing is left"
}

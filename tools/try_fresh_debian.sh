#!/bin/sh
# Tries what the README promises on a fresh Debian 12: tools/try_fresh_debian.sh [MIRROR [FOLDER]]
#
# Makes a minimal Debian tree (base system, git, ca-certificates) in FOLDER (default: a new one
# below /tmp), copies the checkout without its build folders into it, and runs there, by chroot,
# `./dev serve` on the tree's documentation, fetching files from it, and `./dev test --all`. Needs
# root, debootstrap and curl. A tree that FOLDER holds already is used as it is, which shows the
# second run. The last line is that of `./dev test --all`.
set -eu

mirror=${1:-http://deb.debian.org/debian}
folder=${2:-}
port=18080
cd "$(dirname "$0")/.."

if [ "$(id -u)" != 0 ]; then
    echo "$0: chroot needs root" >&2
    exit 1
fi
if [ -z "$folder" ]; then folder=$(mktemp -d /tmp/fresh-debian-XXXXXX); fi
mkdir -p "$folder"

server=
clean_up() {
    if [ -n "$server" ]; then kill -TERM "$server" 2>/dev/null || :; fi
    for mounted in dev/pts dev/shm proc; do umount "$folder/$mounted" 2>/dev/null || :; done
}
trap clean_up EXIT
trap 'exit 1' HUP INT TERM
# It becomes the root folder, which every user can enter.
chmod 755 "$folder"

if [ ! -e "$folder/etc/debian_version" ]; then
    echo "== debootstrap into $folder"
    debootstrap --variant=minbase --include=git,ca-certificates bookworm "$folder" "$mirror" \
        >"$folder.log" 2>&1 ||
        { tail "$folder.log" >&2; exit 1; }
fi
# debootstrap knows only the release itself; corrections come from these two.
cat >"$folder/etc/apt/sources.list" <<END
deb $mirror bookworm main
deb $mirror bookworm-updates main
deb ${mirror%/debian}/debian-security bookworm-security main
END
cp /etc/resolv.conf "$folder/etc/resolv.conf"
# Which the installer would have written.
printf '127.0.0.1 localhost\n::1 localhost\n' >"$folder/etc/hosts"
mount -t proc proc "$folder/proc"
mkdir -p "$folder/dev/shm" "$folder/dev/pts"
mount -t tmpfs tmpfs "$folder/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$folder/dev/pts"
ln -sfn pts/ptmx "$folder/dev/ptmx"

echo "== the checkout"
mkdir -p "$folder/uvhttp"
tar -c --exclude=./build . | tar -x -C "$folder/uvhttp"

# Becomes the command: call it in a shell of its own, whose process number then is the command's.
inside() {
    exec chroot "$folder" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
        LC_ALL=C.UTF-8 "$@"
}

serve() {
    echo "== ./dev serve /usr/share/doc ($1)"
    (inside sh -c "cd /uvhttp && exec ./dev serve /usr/share/doc --port $port") \
        >"$folder.serve.log" 2>&1 &
    server=$!
    until curl -s -o /dev/null "http://127.0.0.1:$port/git/copyright"; do
        if ! kill -0 "$server" 2>/dev/null; then
            cat "$folder.serve.log" >&2
            exit 1
        fi
        sleep 0.1
    done
    cat "$folder.serve.log"
    for name in git/copyright libc6/copyright bash/README.gz; do
        if [ ! -f "$folder/usr/share/doc/$name" ]; then continue; fi
        curl -s "http://127.0.0.1:$port/$name" | cmp - "$folder/usr/share/doc/$name"
        echo "served as on the disk: $name"
    done
    kill -TERM "$server"
    wait "$server"
    server=
}

serve "first time"
serve "second time"

echo "== ./dev test --all"
(inside sh -c "cd /uvhttp && ./dev test --all")

#!/bin/sh
# Tests the commands of the README on a fresh Debian 12: tools/try_fresh_debian.sh [MIRROR
# [DIRECTORY]]
#
# Makes a minimal Debian tree (base system, git, ca-certificates) in DIRECTORY (default: a new one
# in /tmp), copies the checkout without its build directories into it, and runs in a chroot `./dev
# serve` with requests for files, and `./dev test --all`. Needs root, debootstrap, curl and python3.
# An existing tree in DIRECTORY is reused, which tests a second run. The last line is that of `./dev
# test --all`.
set -eu

mirror=${1:-http://deb.debian.org/debian}
directory=${2:-}
port=$(python3 -c 'import socket
with socket.create_server(("127.0.0.1", 0)) as listener:
    print(listener.getsockname()[1])')
cd "$(dirname "$0")/.."

if [ "$(id -u)" != 0 ]; then
    echo "$0: chroot needs root" >&2
    exit 1
fi
if [ -z "$directory" ]; then directory=$(mktemp -d /tmp/fresh-debian-XXXXXX); fi
mkdir -p "$directory"

server=
clean_up() {
    if [ -n "$server" ]; then kill -TERM "$server" 2>/dev/null || :; fi
    for mounted in dev/pts dev/shm proc; do umount "$directory/$mounted" 2>/dev/null || :; done
}
trap clean_up EXIT
trap 'exit 1' HUP INT TERM
# The root directory must be accessible to every user.
chmod 755 "$directory"

if [ ! -e "$directory/etc/debian_version" ]; then
    echo "== debootstrap into $directory"
    debootstrap --variant=minbase --include=git,ca-certificates bookworm "$directory" "$mirror" \
        >"$directory.log" 2>&1 ||
        { tail "$directory.log" >&2; exit 1; }
fi
# debootstrap installs the release only; these two sources have the updates.
cat >"$directory/etc/apt/sources.list" <<END
deb $mirror bookworm main
deb $mirror bookworm-updates main
deb ${mirror%/debian}/debian-security bookworm-security main
END
cp /etc/resolv.conf "$directory/etc/resolv.conf"
# The installer of Debian would write this file.
printf '127.0.0.1 localhost\n::1 localhost\n' >"$directory/etc/hosts"
mount -t proc proc "$directory/proc"
mkdir -p "$directory/dev/shm" "$directory/dev/pts"
mount -t tmpfs tmpfs "$directory/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$directory/dev/pts"
ln -sfn pts/ptmx "$directory/dev/ptmx"

echo "== the checkout"
mkdir -p "$directory/uvhttp"
tar -c --exclude=./build . | tar -x -C "$directory/uvhttp"

# Executes the command in place of the shell, so call it in a subshell, which gets its process ID.
inside() {
    exec chroot "$directory" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
        LC_ALL=C.UTF-8 "$@"
}

serve() {
    echo "== ./dev serve /usr/share/doc ($1)"
    (inside sh -c "cd /uvhttp && exec ./dev serve /usr/share/doc --port $port") \
        >"$directory.serve.log" 2>&1 &
    server=$!
    until curl -s -o /dev/null "http://127.0.0.1:$port/git/copyright"; do
        if ! kill -0 "$server" 2>/dev/null; then
            cat "$directory.serve.log" >&2
            exit 1
        fi
        sleep 0.1
    done
    cat "$directory.serve.log"
    for name in git/copyright libc6/copyright bash/README.gz; do
        if [ ! -f "$directory/usr/share/doc/$name" ]; then continue; fi
        curl -s "http://127.0.0.1:$port/$name" | cmp - "$directory/usr/share/doc/$name"
        echo "served correctly: $name"
    done
    kill -TERM "$server"
    wait "$server"
    server=
}

serve "first time"
serve "second time"

echo "== ./dev test --all"
(inside sh -c "cd /uvhttp && ./dev test --all")

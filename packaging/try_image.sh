#!/bin/sh
# Builds the image of packaging/docker/Dockerfile without a daemon and without a registry, and runs
# it: packaging/try_image.sh [TREE]
#
# The base image is made of TREE, a directory with a minimal Debian 12 (default: a new one of
# debootstrap). buildah builds with chroot instead of containers. The program of the image then
# serves in a chroot, as the user of the image, with a read-only root directory; the script requests
# the page, the probes and the metrics, and stops it. Needs root, buildah, debootstrap and curl;
# the mirror is that of this machine.
set -eu

cd "$(dirname "$0")/.."
if [ "$(id -u)" != 0 ]; then
    echo "$0: chroot needs root" >&2
    exit 1
fi
tree=${1:-}
work=$(mktemp -d "${TMPDIR:-/tmp}/uvhttp-image-XXXXXX")
program=
clean_up() {
    if [ -n "$program" ]; then kill -TERM "$program" 2>/dev/null || :; fi
    umount "$work/root" 2>/dev/null || :
    rm -rf --one-file-system "$work"
}
trap clean_up EXIT
trap 'exit 1' HUP INT TERM

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

quietly() {
    "$@" >"$work/quietly.log" 2>&1 || { tail -n 40 "$work/quietly.log" >&2; fail "$*"; }
}

own_buildah() {
    buildah --root "$work/storage" --runroot "$work/run" --storage-driver vfs "$@"
}

mirror=$(apt-get indextargets --format "\$(SITE)" 'Created-By: Packages' |
    grep '/debian$' | sort | uniq -c | sort -rn | awk 'NR == 1 { print $2 }')
if [ -z "$tree" ]; then
    tree=$work/tree
    echo "== debootstrap"
    quietly debootstrap --variant=minbase bookworm "$tree" "$mirror"
fi
echo "== the base image"
base=$(own_buildah from scratch)
quietly own_buildah add "$base" "$tree" /
quietly own_buildah commit "$base" localhost/debian:bookworm-slim
quietly own_buildah rm "$base"

echo "== the image"
quietly own_buildah bud --isolation chroot --ignorefile packaging/docker/Dockerfile.dockerignore \
    --build-arg DEBIAN=localhost/debian:bookworm-slim -f packaging/docker/Dockerfile \
    -t localhost/uvhttp .
image=$(own_buildah from localhost/uvhttp)
mounted=$(own_buildah mount "$image")
du -sh "$mounted" | cut -f 1
find "$mounted" -type f | sed "s#^$mounted##" | sort

# The values of the image.
inspect() {
    own_buildah inspect --format "{{$1}}" "$image"
}
[ "$(inspect .OCIv1.Config.User)" = 65532:65532 ] || fail "the user of the image"
entry=$(inspect .OCIv1.Config.Entrypoint | tr -d '[]')
command=$(inspect .OCIv1.Config.Cmd | tr -d '[]')

echo "== a container: $entry $command"
mkdir "$work/root"
mount --bind "$mounted" "$work/root"
mount -o remount,bind,ro "$work/root"
# Its own network, where the ports of the image are free.
# shellcheck disable=SC2086,SC2016 # a script, and the words of a command
unshare --net sh -c 'ip link set lo up && exec env -i PATH="$PATH" "$@"' \
    sh chroot --userspec=65532:65532 "$work/root" $entry $command >"$work/program.log" 2>&1 &
program=$!
request() {
    nsenter -t "$program" -n curl -s "http://127.0.0.1:$1"
}
until request 8080/healthz >/dev/null 2>&1; do
    kill -0 "$program" 2>/dev/null || { cat "$work/program.log" >&2; fail "$entry"; }
    sleep 0.1
done
request 8080/ | cmp - packaging/site/index.html || fail "the page differs"
for probe in healthz readyz; do echo "$probe: $(request 8080/$probe)"; done
request 9180/metrics | grep -c '^uvhttp_' | sed 's/$/ metrics/'
kill -TERM "$program"
wait "$program" || fail "exit code $?"
program=
cat "$work/program.log"

#!/bin/sh
# Tries the Debian packages in a tree of Debian 12: packaging/try_debian.sh [PACKAGES [TREE]]
#
# PACKAGES is a directory that packaging/build_debian.sh has filled (default: it builds them). TREE
# is a directory with a minimal Debian, which debootstrap makes (default: a new one, removed at the
# end). Installs a previous version of the packages, starts the program as the unit does, fetches a
# page, upgrades with an edited configuration, which must be kept, compiles a program with
# libuvhttp-dev, purges everything, and lists what is left, which must be nothing. Needs root,
# debootstrap, curl and python3; the mirror is that of this machine.
set -eu

cd "$(dirname "$0")/.."
. packaging/debian_tree.sh

program=
end_process() {
    if [ -n "$program" ]; then kill -TERM "$program" 2>/dev/null || :; fi
}

echo "== a previous version of the packages"
mkdir -p "$tree/packages/old"
version=$(dpkg-deb -f "$tree"/packages/new/uvhttp_*.deb Version)
for package in "$tree"/packages/new/*.deb; do
    rm -rf "$work/old"
    dpkg-deb -R "$package" "$work/old"
    sed -i "s/\(Version: \|= \)$version/\1$version~previous/g" "$work/old/DEBIAN/control"
    if [ -e "$work/old/etc/uvhttp/uvhttp.yaml" ]; then
        echo "# The last line of the previous version." >>"$work/old/etc/uvhttp/uvhttp.yaml"
    fi
    dpkg-deb --root-owner-group -b "$work/old" "$tree/packages/old" >/dev/null
done

echo "== the dependencies"
install_needs gcc libc6-dev pkg-config
snapshot >"$work/before"

check_version() {
    found=$(inside dpkg-query -W -f "\${Version}" uvhttp)
    [ "$found" = "$1" ] || fail "version $found instead of $1"
    inside uvhttp version | head -n 1
}

echo "== installing the previous version"
# shellcheck disable=SC2046 # names of files, without spaces
apt install $(find "$tree/packages/old" -name '*.deb' -printf '/packages/old/%f ')
check_version "$version~previous"

# A value of the unit.
unit() {
    sed -n "s/^$1=//p" "$tree/lib/systemd/system/uvhttp.service" | head -n 1
}

port=$(python3 -c 'import socket
with socket.create_server(("127.0.0.1", 0)) as listener:
    print(listener.getsockname()[1])')

# systemd is not running in the tree: the directories, the user and the capabilities of the unit.
# Another port, because that of the configuration may be in use.
start() {
    for directory in "run/$(unit RuntimeDirectory)" "var/lib/$(unit StateDirectory)" \
        "var/log/$(unit LogsDirectory)"; do
        inside install -d -m 750 -o "$(unit User)" -g "$(unit Group)" "/$directory"
    done
    # shellcheck disable=SC2046 # the words of a command
    chroot "$tree" /usr/bin/setpriv --reuid="$(unit User)" --regid="$(unit Group)" --init-groups \
        --inh-caps=-all,+net_bind_service --ambient-caps=-all,+net_bind_service \
        --bounding-set=-all,+net_bind_service --no-new-privs \
        env -i UVHTTP_LISTEN="127.0.0.1:$port" $(unit ExecStart) >"$work/program.log" 2>&1 &
    program=$!
    until curl -s -o /dev/null "http://127.0.0.1:$port/"; do
        kill -0 "$program" 2>/dev/null ||
            { cat "$work/program.log" >&2; fail "$(unit ExecStart)"; }
        sleep 0.1
    done
    cat "$work/program.log"
    curl -s "http://127.0.0.1:$port/" | cmp - "$tree/usr/share/uvhttp/site/index.html" ||
        fail "the page differs"
    echo "the page of /usr/share/uvhttp/site is served by $(unit User)"
}

stop() {
    kill -TERM "$program"
    wait "$program" || fail "exit code $?"
    program=
    rm -r "$tree/run/$(unit RuntimeDirectory)"
    grep -q 'GET / ' "$tree/var/log/uvhttp/access.log" || fail "there is no access log"
}

start
stop

echo "== upgrading with an edited configuration"
config=$tree/etc/uvhttp/uvhttp.yaml
echo "health: true" >>"$config"
cp "$config" "$work/edited"
# shellcheck disable=SC2046 # names of files, without spaces
apt -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold install \
    $(find "$tree/packages/new" -name '*.deb' -printf '/packages/new/%f ')
check_version "$version"
cmp "$config" "$work/edited" || fail "the edited configuration is not kept"
cmp "$config.dpkg-dist" packaging/etc/uvhttp.yaml || fail "the new configuration is not beside it"
inside uvhttp check /etc/uvhttp/uvhttp.yaml
start
[ "$(curl -s -o /dev/null -w '%{http_code}' "http://127.0.0.1:$port/readyz")" = 200 ] ||
    fail "the edited configuration is not in use"
stop

echo "== a program with libuvhttp-dev"
cat >"$tree/tmp/hello.c" <<'END'
#include <stdio.h>
#include <uvhttp.h>

int main(void)
{
    printf("linked with %s\n", uvhttp_version());
    return 0;
}
END
# shellcheck disable=SC2016 # a script
inside sh -ec 'cd /tmp; for kind in "" --static; do
    cc hello.c -o hello $(pkg-config --cflags --libs $kind uvhttp); ./hello
done; rm hello hello.c'

echo "== purging"
# shellcheck disable=SC2046 # names of packages
apt purge $(inside dpkg-query -W -f "\${Package} " '*uvhttp*')
snapshot >"$work/after"
check_nothing_left "$work/before" "$work/after"

#!/bin/sh
# Tries the units under systemd: packaging/try_systemd.sh [PACKAGES [TREE]]
#
# The parameters are those of packaging/try_debian.sh. systemd runs as the first process of a
# process, mount, network and cgroup namespace in the tree. The service starts at the boot, serves
# with all of its restrictions (TLS, uploads, compression, a unix socket, metrics), reloads, is
# upgraded, rotates its log, is restarted by the watchdog, starts with the first connection of its
# socket unit, loses no connection during a restart, and the packages are purged while it runs.
# Needs root, debootstrap and the file system cgroup2.
set -eu

cd "$(dirname "$0")/.."
. packaging/debian_tree.sh

# Without files of systemd, its timers and logrotate.
own_snapshot() {
    snapshot | grep -v -e '^var/lib/systemd/\(linger\|timers\)' -e '^var/lib/logrotate/' \
        -e '^usr/sbin/policy-rc.d$'
}

echo "== installing systemd and the packages"
install_needs systemd-sysv dbus curl logrotate
rm -f "$tree/etc/machine-id" && : >"$tree/etc/machine-id"
own_snapshot >"$work/before"
# shellcheck disable=SC2046 # names of files, without spaces
apt install $(find "$tree/packages/new" -name '*.deb' -printf '/packages/new/%f ')
rm "$tree/usr/sbin/policy-rc.d"
for mounted in dev/shm proc; do umount "$tree/$mounted"; done

cgroups=$(findmnt -n -t cgroup2 -o TARGET | head -n 1)
[ -n "$cgroups" ] || fail "there is no file system cgroup2"
cgroup=$cgroups/uvhttp-try-$$
mkdir "$cgroup"
first=
end_process() {
    if [ -n "$first" ]; then
        kill -KILL "$first" 2>/dev/null || :
        wait "$first" 2>/dev/null || :
    fi
    # Processes that were killed leave their group a little later.
    for _ in 1 2 3 4 5 6 7 8 9; do
        find "$cgroup" -depth -type d -exec rmdir {} \; 2>/dev/null || :
        [ -d "$cgroup" ] || break
        sleep 0.2
    done
}

echo "== booting"
cat >"$work/boot.sh" <<'END'
set -eu
mount --make-rprivate /
mount --bind "$1" "$1"
cd "$1"
mount -t proc proc proc
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs -o mode=755 tmpfs run
mount -t tmpfs -o mode=755 tmpfs dev
mkdir dev/shm dev/pts
mount -t tmpfs tmpfs dev/shm
for device in null zero full random urandom tty; do
    : >"dev/$device"
    mount --bind "/dev/$device" "dev/$device"
done
mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
ln -s pts/ptmx dev/ptmx
ip link set lo up
mkdir run/old
pivot_root . run/old
umount -l /run/old
exec env -i container=uvhttp PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd
END
(
    # shellcheck disable=SC3028,SC2034 # the process of this subshell
    sh -c 'echo $PPID' >"$cgroup/cgroup.procs"
    exec unshare --mount --pid --fork --kill-child --uts --ipc --net --cgroup \
        sh "$work/boot.sh" "$tree"
) >"$work/boot.log" 2>&1 &
unshare=$!
first=$unshare

systemd=
in_system() {
    nsenter -t "$systemd" -a /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 "$@"
}

# until_true SECONDS COMMAND...
until_true() {
    left=$(($1 * 10))
    shift
    until "$@" >/dev/null 2>&1; do
        left=$((left - 1))
        [ $left -gt 0 ] || fail "$*"
        sleep 0.1
    done
}

is_booted() {
    systemd=$(pgrep -P "$unshare") && in_system systemctl is-active uvhttp.service
}
until_true 120 is_booted
in_system systemctl is-system-running --wait || in_system systemctl --failed --no-pager

property() {
    in_system systemctl show -p "$1" --value uvhttp.service
}

# expect TEXT COMMAND...: the output has the text.
expect() {
    wanted=$1
    shift
    in_system "$@" >"$work/output" 2>&1 || :
    grep -q -e "$wanted" "$work/output" || { cat "$work/output" >&2; fail "no '$wanted': $*"; }
}

check_log() {
    in_system journalctl -u uvhttp --no-pager >"$work/journal"
    ! grep -i -e 'permitted' -e 'permission' -e 'denied' -e ' warning ' "$work/journal" ||
        fail "the log of the service has a warning"
}

echo "== the service"
expect 'uvhttp works' curl -s http://127.0.0.1/
expect '^serving$' systemctl show -p StatusText --value uvhttp.service
expect '^CapEff:.*0000000000000400$' cat "/proc/$(property MainPID)/status"
expect '^NoNewPrivs:.*1$' cat "/proc/$(property MainPID)/status"
expect '^uvhttp$' stat -c %U "/proc/$(property MainPID)"
in_system systemd-analyze security uvhttp.service --no-pager | tail -n 1
check_log

echo "== reload"
config=/etc/uvhttp/uvhttp.yaml
mkdir -p "$tree/etc/uvhttp/sites"
echo 'sites: [{hosts: [a.test], routes: [{path: /, respond: {body: "site a"}}]}]' \
    >"$tree/etc/uvhttp/sites/a.yaml"
in_system systemctl reload uvhttp.service
until_true 10 expect 'site a' curl -s -H 'Host: a.test' http://127.0.0.1/
check_log
cp "$tree$config" "$work/config"
echo 'mistake: 1' >>"$tree$config"
! in_system systemctl reload uvhttp.service 2>/dev/null || fail "a mistake is reloaded"
expect "unknown key 'mistake'" journalctl -u uvhttp --no-pager
expect 'site a' curl -s -H 'Host: a.test' http://127.0.0.1/
cp "$work/config" "$tree$config"

echo "== upgrade"
old=$(property MainPID)
in_system uvhttp upgrade "$config"
is_replaced() { [ "$(property MainPID)" != "$old" ] && ! in_system kill -0 "$old"; }
until_true 20 is_replaced
expect '^active$' systemctl is-active uvhttp.service
expect '^serving$' systemctl show -p StatusText --value uvhttp.service
expect 'site a' curl -s -H 'Host: a.test' http://127.0.0.1/
in_system systemctl reload uvhttp.service
[ "$(property NRestarts)" = 0 ] || fail "the service was restarted"
check_log

echo "== logrotate"
in_system logrotate -f /etc/logrotate.d/uvhttp
expect 'GET / ' cat /var/log/uvhttp/access.log.1
has_new_log() {
    in_system curl -s http://127.0.0.1/ && in_system test -s /var/log/uvhttp/access.log
}
until_true 10 has_new_log
expect '^640 uvhttp uvhttp$' stat -c '%a %U %G' /var/log/uvhttp/access.log

echo "== everything within the restrictions"
sed -i 's#^listen: 80#listen: ["http://*:80", 443, {unix: /run/uvhttp/http.sock, mode: "0660"}]#' \
    "$tree$config"
cat >"$tree/etc/uvhttp/sites/b.yaml" <<'END'
tls: {self_signed: true}
metrics: {listen: "127.0.0.1:9180"}
health: true
sites:
  - hosts: [b.test]
    routes:
      - path: /
        static: /var/lib/uvhttp/files
        listing: true
        uploads: true
        compress: true
        archive: true
        watch: true
END
in_system install -d -o uvhttp -g uvhttp /var/lib/uvhttp/files
in_system systemctl restart uvhttp.service
in_system sh -c 'yes "a line of text" | head -n 100000 >/tmp/text.txt'
expect 201 curl -s -o /dev/null -w '%{http_code}' -H 'Host: b.test' -T /tmp/text.txt \
    http://127.0.0.1/text.txt
expect 'content-encoding: br' curl -sk --http2 -o /dev/null -D - -H 'Host: b.test' \
    -H 'Accept-Encoding: br' https://127.0.0.1/text.txt
in_system sh -c "curl -sk -H 'Host: b.test' https://127.0.0.1/text.txt | cmp - /tmp/text.txt" ||
    fail "the file differs"
expect 'text.txt' sh -c "curl -s -H 'Host: b.test' 'http://127.0.0.1/?format=tar' | tar -t"
expect ' 200 ' curl -s -i --unix-socket /run/uvhttp/http.sock http://b.test/readyz
expect 'uvhttp_build_info' curl -s http://127.0.0.1:9180/metrics
in_system test -e /var/lib/uvhttp/self-signed.pem || fail "no certificate in /var/lib/uvhttp"
check_log
in_system rm "/etc/uvhttp/sites/b.yaml"
cp "$work/config" "$tree$config"
in_system systemctl restart uvhttp.service

echo "== the watchdog"
in_system mkdir -p /run/systemd/system/uvhttp.service.d
in_system sh -c 'printf "[Service]\nWatchdogSec=2\n" >/run/systemd/system/uvhttp.service.d/w.conf'
in_system systemctl daemon-reload
in_system systemctl restart uvhttp.service
sleep 5
[ "$(property NRestarts)" = 0 ] || fail "the watchdog ends a healthy service"
in_system systemctl kill --kill-who=main --signal=STOP uvhttp.service
is_restarted() { [ "$(property NRestarts)" = 1 ] && in_system curl -s http://127.0.0.1/; }
until_true 20 is_restarted
expect 'Watchdog timeout' journalctl -u uvhttp --no-pager

echo "== the socket unit"
in_system systemctl stop uvhttp.service
in_system systemctl enable -q --now uvhttp.socket
expect '^inactive$' systemctl is-active uvhttp.service
expect 'uvhttp works' curl -s http://127.0.0.1/
expect 'socket activation: 1 inherited' journalctl -u uvhttp --no-pager
cat >"$tree/tmp/clients.sh" <<'END'
count=0
while [ ! -e /tmp/enough ]; do
    curl -s -o /dev/null http://127.0.0.1/ || { echo "request $count failed"; exit 1; }
    count=$((count + 1))
done
echo "$count requests, none lost"
END
in_system rm -f /tmp/enough
in_system sh /tmp/clients.sh >"$work/clients" &
clients=$!
for _ in 1 2 3; do in_system systemctl restart uvhttp.service; done
in_system touch /tmp/enough
wait "$clients" || { cat "$work/clients" >&2; fail "a restart has lost a connection"; }
cat "$work/clients"

echo "== purging"
in_system env DEBIAN_FRONTEND=noninteractive sh -c \
    "apt-get -y -q purge \$(dpkg-query -W -f '\${Package} ' '*uvhttp*')" >"$work/purge.log" 2>&1 ||
    { cat "$work/purge.log" >&2; fail "apt-get purge"; }
! in_system curl -s http://127.0.0.1/ || fail "the service still runs"
in_system systemctl poweroff || :
wait "$unshare" || :
first=
rm -rf "$tree/etc/uvhttp/sites"
rmdir "$tree/etc/uvhttp" 2>/dev/null || :
own_snapshot >"$work/after"
check_nothing_left "$work/before" "$work/after"

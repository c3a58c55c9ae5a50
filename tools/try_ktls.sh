#!/bin/sh
# Runs the tests of TLS with kernel TLS on Debian's kernel in a virtual machine: tools/try_ktls.sh
# [PYTEST-OPTION...]
#
# For Debian 12 on x86-64. Without options it runs tests/wire/test_ktls.py, and test_tls.py and
# test_websocket.py with kernel TLS. The virtual machine mounts the files of this system read-only
# by 9p. The kernel is unpacked from its package into build/ktls. With emulation this takes about 30
# minutes; UVHTTP_TRY_ACCEL=kvm is faster if KVM is available. Installs qemu (tools/setup.sh ktls).
# The last line says whether all tests passed.
set -eu

cd "$(dirname "$0")/.."
sh tools/setup.sh ktls
mkdir -p build/ktls/packages
directory=$PWD/build/ktls

kernel=$(apt-cache depends linux-image-amd64 | sed -n 's/.*Depends: linux-image-//p')
root=$directory/$kernel
if [ ! -e "$root/complete" ]; then
    echo "== kernel $kernel"
    (cd "$directory/packages" && apt-get -q download "linux-image-$kernel") \
        >"$directory/packages.log" 2>&1 ||
        { tail "$directory/packages.log" >&2; exit 1; }
    dpkg -x "$directory"/packages/linux-image-"$kernel"_*.deb "$root"
    busybox depmod -b "$root" "$kernel"
    touch "$root/complete"
fi

echo "== build"
{
    cmake --preset release &&
        cmake --build build/release --target uvhttp_program tls_server wire_server
} >"$directory/build.log" 2>&1 ||
    { tail -n 30 "$directory/build.log" >&2; exit 1; }

echo "== tests"
initrd=$directory/initrd
modules=lib/modules/$kernel
rm -rf "$initrd"
mkdir -p "$initrd/bin" "$initrd/$modules"
cp "$(command -v busybox)" "$initrd/bin/busybox"
wanted="virtio_pci 9pnet_virtio 9p overlay aesni-intel ghash-clmulni-intel gcm tls"
for name in $wanted; do
    for file in $(sed -n "s|^\([^:]*/$name\.ko\):|\1|p" "$root/$modules/modules.dep"); do
        mkdir -p "$initrd/$modules/$(dirname "$file")"
        cp "$root/$modules/$file" "$initrd/$modules/$file"
    done
done
cp "$root/$modules/modules.dep" "$initrd/$modules/"

cat >"$initrd/init" <<END
#!/bin/busybox sh
/bin/busybox mkdir -p /proc /host /changes /new /sbin /usr/bin /usr/sbin
/bin/busybox --install -s
mount -t proc proc /proc
for name in $wanted; do modprobe \$name; done
mount -t 9p -o trans=virtio,version=9p2000.L,ro,cache=loose,msize=512000 host /host
mount -t tmpfs tmpfs /changes
mkdir /changes/upper /changes/work
mount -t overlay -o lowerdir=/host,upperdir=/changes/upper,workdir=/changes/work overlay /new
mount -t proc proc /new/proc
mount -t sysfs sysfs /new/sys
mount -t devtmpfs dev /new/dev
mkdir -p /new/dev/shm
mount -t tmpfs tmpfs /new/dev/shm
ip link set lo up
chroot /new /bin/sh $directory/inside.sh
poweroff -f
END
chmod +x "$initrd/init"

cat >"$directory/inside.sh" <<END
export PATH=/usr/bin:/bin:/usr/sbin:/sbin PYTHONDONTWRITEBYTECODE=1
export UVHTTP_BUILD_DIR=$PWD/build/release
cd "$PWD"
ulimit -n 20000
try() { python3 -m pytest -q --color=no -p no:cacheprovider "\$@"; }
if [ -n "$*" ]; then
    UVHTTP_TEST_KTLS=1 try $*
else
    try tests/wire/test_ktls.py && UVHTTP_TEST_KTLS=1 try tests/wire/test_tls.py &&
        UVHTTP_TEST_KTLS=1 UVHTTP_WIRE_TLS=1 try tests/wire/test_websocket.py
fi && echo "kernel TLS: passed"
END

(cd "$initrd" && find . | cpio -o -H newc --quiet | gzip -1) >"$directory/initrd.gz"
accel=${UVHTTP_TRY_ACCEL:-tcg}
case $accel in kvm) cpu=host ;; *) cpu=max ;; esac
qemu-system-x86_64 -accel "$accel" -cpu "$cpu" -smp 2 -m 4096 \
    -nodefaults -nographic -no-reboot -serial stdio \
    -kernel "$root/boot/vmlinuz-$kernel" -initrd "$directory/initrd.gz" \
    -append "console=ttyS0 quiet loglevel=3 panic=-1" \
    -fsdev local,id=host,path=/,security_model=none,readonly=on,multidevs=remap \
    -device virtio-9p-pci,fsdev=host,mount_tag=host </dev/null | tee "$directory/tests.log"
if grep -q "^kernel TLS: passed" "$directory/tests.log"; then exit 0; fi
echo "kernel TLS: failed; the output is in $directory/tests.log" >&2
exit 1

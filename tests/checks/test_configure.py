"""A failed configuration ends with a helpful message: the Debian package of a missing library, or
the invalid value."""

import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def configure(tmp_path, *options, **environment):
    """The error message at the end of a failed configuration, as one line."""
    result = subprocess.run(
        ["cmake", "-G", "Ninja", "-S", ROOT, "-B", tmp_path / "build", *options],
        capture_output=True, text=True, env={**os.environ, **environment})
    assert result.returncode != 0
    return " ".join(result.stderr.split())


def module(directory, name, version):
    (directory / f"{name}.pc"
     ).write_text(f"Name: {name}\nDescription: a stand-in\nVersion: {version}\nLibs:\nCflags:\n")


@pytest.mark.parametrize("present, package", [({}, "libuv1-dev"),
                                              ({"libuv": "1.43.0"}, "libuv1-dev"),
                                              ({"libuv": "1.44.0"}, "libxxhash-dev"), ])
def test_missing_library_error_names_package(tmp_path, present, package):
    for name, version in present.items():
        module(tmp_path, name, version)
    assert f"Debian package: {package}" in configure(tmp_path, PKG_CONFIG_LIBDIR=str(tmp_path))


def test_missing_cmocka_error_names_package(tmp_path):
    module(tmp_path, "libuv", "1.44.0")
    module(tmp_path, "libxxhash", "0.8.1")
    module(tmp_path, "yaml-0.1", "0.2.5")
    assert "Debian package: libcmocka-dev" in configure(tmp_path, PKG_CONFIG_LIBDIR=str(tmp_path))


def test_missing_libyaml_error_names_package(tmp_path):
    module(tmp_path, "libuv", "1.44.0")
    module(tmp_path, "libxxhash", "0.8.1")
    assert "Debian package: libyaml-dev" in configure(tmp_path, PKG_CONFIG_LIBDIR=str(tmp_path))


def test_missing_mimalloc_error_names_package(tmp_path):
    assert "Debian package: libmimalloc-dev" in configure(
        tmp_path, "-DCMAKE_DISABLE_FIND_PACKAGE_mimalloc=ON")


def test_missing_openssl_error_names_package_if_required(tmp_path):
    module(tmp_path, "libuv", "1.44.0")
    module(tmp_path, "libxxhash", "0.8.1")
    assert "Debian package: libssl-dev" in configure(tmp_path, "-DBUILD_WITH_HTTPS=ON",
                                                     PKG_CONFIG_LIBDIR=str(tmp_path))


def test_https_needs_libcrypto(tmp_path):
    assert "BUILD_WITH_HTTPS needs BUILD_WITH_LIBCRYPTO" in configure(tmp_path,
                                                                      "-DBUILD_WITH_HTTPS=ON",
                                                                      "-DBUILD_WITH_LIBCRYPTO=OFF")


def test_missing_libxcrypt_error_names_package_if_required(tmp_path):
    module(tmp_path, "libuv", "1.44.0")
    module(tmp_path, "libxxhash", "0.8.1")
    assert "Debian package: libcrypt-dev" in configure(tmp_path, "-DBUILD_WITH_CRYPT=ON",
                                                       PKG_CONFIG_LIBDIR=str(tmp_path))


def test_missing_md4c_error_names_package_if_required(tmp_path):
    module(tmp_path, "libuv", "1.44.0")
    module(tmp_path, "libxxhash", "0.8.1")
    assert "Debian package: libmd4c-dev" in configure(tmp_path, "-DBUILD_WITH_MARKDOWN=ON",
                                                      PKG_CONFIG_LIBDIR=str(tmp_path))


def test_missing_libseccomp_error_names_package_if_required(tmp_path):
    module(tmp_path, "libuv", "1.44.0")
    module(tmp_path, "libxxhash", "0.8.1")
    assert "Debian package: libseccomp-dev" in configure(tmp_path, "-DBUILD_WITH_SECCOMP=ON",
                                                         PKG_CONFIG_LIBDIR=str(tmp_path))


@pytest.mark.parametrize("present, package", [([], "libbrotli-dev"),
                                              (["libbrotlienc"], "libzstd-dev"),
                                              (["libbrotlienc", "libzstd"], "zlib1g-dev"), ])
def test_missing_compressor_error_names_package_if_required(tmp_path, present, package):
    for name in ["libuv", "libxxhash", *present]:
        module(tmp_path, name, "1.44.0")
    assert f"Debian package: {package}" in configure(tmp_path, "-DBUILD_WITH_COMPRESSION=ON",
                                                     PKG_CONFIG_LIBDIR=str(tmp_path))


def test_missing_optional_libraries_are_omitted(tmp_path):
    module(tmp_path, "libuv", "1.44.0")
    module(tmp_path, "libxxhash", "0.8.1")
    options = ["-DBUILD_TESTING=OFF", "-DUVHTTP_BUILD_EXTRAS=OFF"]
    configured_targets(tmp_path / "without", *options, PKG_CONFIG_LIBDIR=str(tmp_path))
    without = (tmp_path / "without/build/CMakeCache.txt").read_text()
    assert "BUILD_WITH_HTTPS:BOOL=OFF" in without and "BUILD_WITH_COMPRESSION:BOOL=OFF" in without
    assert "BUILD_WITH_CRYPT:BOOL=OFF" in without and "BUILD_WITH_LIBCRYPTO:BOOL=OFF" in without
    assert "BUILD_WITH_MARKDOWN:BOOL=OFF" in without
    assert "BUILD_WITH_SECCOMP:BOOL=OFF" in without
    configured_targets(tmp_path / "with", *options)
    with_them = (tmp_path / "with/build/CMakeCache.txt").read_text()
    assert "BUILD_WITH_HTTPS:BOOL=ON" in with_them and "BUILD_WITH_COMPRESSION:BOOL=ON" in with_them
    assert "BUILD_WITH_CRYPT:BOOL=ON" in with_them and "BUILD_WITH_MARKDOWN:BOOL=ON" in with_them


def test_missing_cpp_compiler_error_names_package(tmp_path):
    assert "Debian package: g++" in configure(tmp_path, CXX=str(tmp_path / "none"))


def configured_targets(tmp_path, *options, **environment):
    result = subprocess.run(
        ["cmake", "-G", "Ninja", "-S", ROOT, "-B", tmp_path / "build", *options],
        capture_output=True, text=True, env={**os.environ, **environment})
    assert result.returncode == 0, result.stderr
    listed = subprocess.run(["ninja", "-C", tmp_path / "build", "-t", "targets", "all"],
                            capture_output=True, text=True, check=True)
    return listed.stdout


def test_libraries_and_program_build_without_cpp_compiler(tmp_path):
    none = str(tmp_path / "none")
    library = configured_targets(tmp_path / "library", "-DBUILD_TESTING=OFF",
                                 "-DUVHTTP_BUILD_EXTRAS=OFF", CXX=none)
    assert "CXX_COMPILER" not in library and "dist/lib/libuvhttp.so:" in library
    # As `./dev serve` configures, on a machine without a C++ compiler, and then with it, as `./dev
    # test` does in the same directory.
    program = configured_targets(tmp_path, "-DBUILD_TESTING=OFF", CXX=none)
    assert "dist/bin/uvhttp:" in program and "dist/bin/parse_ring:" not in program
    assert "dist/bin/parse_ring:" in configured_targets(tmp_path, "-DBUILD_TESTING=ON")


@pytest.mark.parametrize(
    "options, words",
    [(["-DUVHTTP_SANITIZER=address"], "'address'; allowed are asan, tsan, fuzz"),
     (["-DUVHTTP_SANITIZER=asan"], "-DBUILD_WITH_MIMALLOC=OFF"),
     (["-DUVHTTP_SANITIZER=fuzz", "-DBUILD_WITH_MIMALLOC=OFF", "-DCMAKE_C_COMPILER=gcc"
       ], "Debian package: clang"),
     (["-DENABLE_DEBUG=ON", "-DCMAKE_BUILD_TYPE=Release"], "leave one of them out"), ])
def test_invalid_option_has_error_message(tmp_path, options, words):
    assert words in configure(tmp_path, *options)


def test_build_without_websocket_compiles(tmp_path):
    """No WebSocket source is compiled, the other sources do not need it, and programs can include
    all headers."""
    options = ["-DCMAKE_BUILD_TYPE=Debug", "-DBUILD_WITH_MIMALLOC=OFF"]
    assert "uvhttp_objects.dir/src/websocket/websocket.c.o" in configured_targets(
        tmp_path / "with", *options)
    targets = configured_targets(tmp_path, *options, "-DBUILD_WITH_WEBSOCKET=OFF")
    own = re.compile(r"(src/((codec/)?websocket/|redis/)|examples/"
                     r"websocket|unit_test_(codec_ws|websocket|topic)|fuzz_ws_)")
    assert "examples/" in targets and not own.findall(targets)
    subprocess.run(["ninja", "-C", tmp_path / "build", "uvhttp"], capture_output=True, check=True)
    library = tmp_path / "build/dist/lib/libuvhttp.so"
    names = subprocess.run(["nm", "-D", library], capture_output=True, text=True, check=True).stdout
    assert " T uvhttp_server_new" in names and "websocket" not in names and "topic" not in names
    program = tmp_path / "program.c"
    program.write_text(
        "#include <uvhttp.h>\n#include <uvhttp/topics.h>\n#include <uvhttp/websocket.h>\n"
        "int main(void)\n{\n    return uvhttp_version() == 0;\n}\n")
    subprocess.run(["cc", program, "-I", ROOT / "include", library, "-o", tmp_path / "program"],
                   check=True)
    subprocess.run([tmp_path / "program"], check=True,
                   env={**os.environ, "LD_LIBRARY_PATH": str(library.parent)})

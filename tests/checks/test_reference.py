"""The reference that is generated from the headers, and its check: the check must detect each
deliberate gap, and the reference must show the comments."""

import pathlib
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import apidoc  # noqa: E402  (from tools)
import check_reference  # noqa: E402
import reference  # noqa: E402

needs_doxygen = pytest.mark.skipif(not shutil.which("doxygen"), reason="Doxygen is not installed")

HEADER = """/* Things. See uvhttp_thing_new. */
#ifndef UVHTTP_THING_H
#define UVHTTP_THING_H

#ifdef __cplusplus
extern "C" {
#endif

#define UVHTTP_EXPORT __attribute__((visibility("default")))

/* A thing. */
typedef struct uvhttp_thing uvhttp_thing_t;

/* What a thing is made of. */
typedef struct uvhttp_thing_config {
    int size; /* bytes */
    int other;
} uvhttp_thing_config_t;

/* Told of things. */
typedef void (*uvhttp_thing_cb)(uvhttp_thing_t *thing);

#define UVHTTP_ERROR_MAP(X)       \\
    X(ENOMEM, -1, "out of memory") \\
    X(EINVAL, -2,                  \\
      "invalid (\\"so\\") argument")

/* Codes. */
typedef enum uvhttp_code {
    UVHTTP_OK = 0,
#define UVHTTP_ERROR_ENUM(name, code, text) UVHTTP_##name = (code),
    UVHTTP_ERROR_MAP(UVHTTP_ERROR_ENUM)
#undef UVHTTP_ERROR_ENUM
} uvhttp_code_t;

/* Makes a thing for "*name" and <angles>; and frees it.
 *
 *     uvhttp_thing_new(&config);
 *
 *   UVHTTP_EINVAL   no *config
 */
UVHTTP_EXPORT uvhttp_thing_t *uvhttp_thing_new(const uvhttp_thing_config_t *config);
UVHTTP_EXPORT void uvhttp_thing_free(uvhttp_thing_t *thing, uvhttp_thing_cb told);

/* ---- Sizes ---- */

UVHTTP_EXPORT int
uvhttp_thing_size_which_is_a_name_that_is_too_long(void); /* in `bytes` */
UVHTTP_EXPORT uvhttp_code_t uvhttp_thing_code(void);      /* the code */

#ifdef __cplusplus
}
#endif

#endif
"""
LIBRARY = """void *uvhttp_thing_new(void *config) { return config; }
void uvhttp_thing_free(void *thing) { (void)thing; }
int uvhttp_thing_size_which_is_a_name_that_is_too_long(void) { return 0; }
int uvhttp_thing_code(void) { return 0; }
"""
USER = """/* Uses things. */
int main(void)
{
    uvhttp_thing_free(uvhttp_thing_new(0), 0);
    return uvhttp_thing_size_which_is_a_name_that_is_too_long() + uvhttp_thing_code();
}
"""
ERRORS = """# Errors

| name | code | text |
|---|---|---|
| `UVHTTP_ENOMEM` | -1 | memory |
| `UVHTTP_EINVAL` | -2 | argument |
"""
FILES = {
    "include/uvhttp/error.h": HEADER, "tests/use.c": USER, "docs/errors.md": ERRORS,
    "library.c": LIBRARY,
}


@pytest.fixture
def project(tmp_path):
    for name, text in FILES.items():
        write(tmp_path, name, text)
    return tmp_path


def write(project, name, text):
    (project / name).parent.mkdir(parents=True, exist_ok=True)
    (project / name).write_text(text)


def change(project, name, before, after):
    text = (project / name).read_text()
    assert text.count(before) == 1, before
    write(project, name, text.replace(before, after))


def run_check(project):
    subprocess.run(
        ["gcc", "-shared", "-fPIC", project / "library.c", "-o", project / "libuvhttp.so"],
        check=True)
    return list(check_reference.check(project, project))


@needs_doxygen
def test_complete_project_passes(project):
    assert run_check(project) == []


@pytest.mark.parametrize(
    "name, before, after, said",
    [
        ("include/uvhttp/error.h", "/* A thing. */\n", "", "uvhttp_thing_t has no comment"),
        ("include/uvhttp/error.h", "/* Told of things. */\n", "\n",
         "uvhttp_thing_cb has no comment"),
        ("include/uvhttp/error.h", "/* Codes. */\n", "\n", "uvhttp_code_t has no comment"),
        ("include/uvhttp/error.h", "      /* the code */", "", "uvhttp_thing_code has no comment"),
        # An empty line ends the scope of a comment.
        ("include/uvhttp/error.h", "UVHTTP_EXPORT void uvhttp_thing_free",
         "\nUVHTTP_EXPORT void uvhttp_thing_free", "uvhttp_thing_free has no comment"),
        ("include/uvhttp/error.h", "*config);\n",
         "*config);\n\n/* It. */\nUVHTTP_EXPORT int uvhttp_it(void);\n",
         "uvhttp_it is not exported by libuvhttp.so"),
        ("include/uvhttp/error.h", "*config);\n",
         "*config);\n\n/* It. */\nUVHTTP_EXPORT int uvhttp_it(void);\n",
         "uvhttp_it is used by no test and no example"),
        ("include/uvhttp/error.h", "/* A thing. */\n",
         "/* It. */\ntypedef struct uvhttp_it uvhttp_it_t;\n\n/* A thing. */\n",
         "uvhttp_it_t is used by no test and no example, and by nothing else"),
        ("tests/use.c", " + uvhttp_thing_code()", "", "uvhttp_thing_code is used by no test"),
        ("tests/use.c", " + uvhttp_thing_code()",
         ' + sizeof "uvhttp_thing_code()" /* uvhttp_thing_code() */',
         "uvhttp_thing_code is used by no test"),
        ("library.c", "int uvhttp_thing_code", "static int uvhttp_thing_code",
         "uvhttp_thing_code is not exported"),
        ("docs/errors.md", "| `UVHTTP_EINVAL` | -2 | argument |\n", "",
         "docs/errors.md: has no row for UVHTTP_EINVAL"),
        ("docs/errors.md", "-2", "-3", "docs/errors.md: UVHTTP_EINVAL is -2, not -3"),
        ("docs/errors.md", "UVHTTP_EINVAL", "UVHTTP_EOLD",
         "docs/errors.md: UVHTTP_EOLD is no error code any more"),
        ("include/uvhttp/error.h", "uvhttp_thing_new(&config);",
         "uvhttp_thing_new(\n *         &(thing){1, 2}, f(1, 2));",
         "error.h:38: uvhttp_thing_new has 1 parameters, not 2"),
        ("docs/errors.md", "| argument |\n",
         "| argument |\n\n```c\nuvhttp_thing_free(thing);\n```\n",
         "docs/errors.md:9: uvhttp_thing_free has 2 parameters, not 1"),
    ])
def test_missing_comment_is_reported(project, name, before, after, said):
    change(project, name, before, after)
    assert any(said in line for line in run_check(project)), run_check(project)


def test_command_prints_missing_comments(project):
    command = [
        "/usr/bin/python3", "-B", ROOT / "tools/check_reference.py", "--root", project,
        "--libraries", project
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode,
            done.stdout) == (1, f"{project}/libuvhttp.so: not built; run ./dev build\n")
    assert run_check(project) == []
    assert subprocess.run(command, capture_output=True, text=True).returncode == 0
    change(project, "tests/use.c", " + uvhttp_thing_code()", "")
    done = subprocess.run(command, capture_output=True, text=True)
    line = HEADER[:HEADER.index("uvhttp_thing_code(")].count("\n") + 1
    assert done.returncode == 1 and (f"include/uvhttp/error.h:{line}: uvhttp_thing_code is used by "
                                     f"no test") in done.stdout


@needs_doxygen
@pytest.mark.parametrize(
    "name, before, after, said",
    [("include/uvhttp/error.h", "/* A thing. */\n", "",
      "Member uvhttp_thing_t (typedef) of file error.h is not documented"),
     ("include/uvhttp/error.h", "/* ---- Sizes ---- */\n",
      "#ifdef UVHTTP_NOBODY\n/* It. */\nUVHTTP_EXPORT int uvhttp_it(void);\n#endif\n",
      "uvhttp_it is not in the reference"), ])
def test_doxygen_warnings_are_reported(project, name, before, after, said):
    text = (project / name).read_text()
    write(project, name, text.replace(before, after, 1))
    assert text != (project / name).read_text()
    assert any(said in line for line in run_check(project)), run_check(project)


@needs_doxygen
def test_comments_are_shown(project):
    assert reference.build(project, project / "out") == []
    found = {
        member.findtext("name"):
            "".join(member.find("detaileddescription").itertext()) +
            "".join(member.find("briefdescription").itertext())
        for member in xml.etree.ElementTree.parse(project /
                                                  "out/xml/error_8h.xml").iter("memberdef")
    }
    for name in ("uvhttp_thing_new", "uvhttp_thing_free"):
        assert 'Makes a thing for "*name" and <angles>; and frees it.' in found[name]
        assert "uvhttp_thing_new(&config);" in found[
            name] and "UVHTTP_EINVAL   no *config" in found[name]
    assert "bytes" in found["uvhttp_thing_size_which_is_a_name_that_is_too_long"]
    codes = "".join(
        xml.etree.ElementTree.parse(project / "out/xml/error_8h.xml").getroot().itertext())
    assert '-2, invalid ("so") argument' in codes


@needs_doxygen
def test_sections_and_code_keep_order_and_indentation(project):
    change(project, "include/uvhttp/error.h", "/* ---- Sizes ---- */\n",
           "/* ---- Sizes ----\n * Before.\n *\n *     if (1)\n *         uvhttp_thing_code();\n"
           " *     else\n *         return;\n *\n * After. */\n")
    assert reference.build(project, project / "out") == []
    text = (project / "out/xml/error_8h.xml").read_text()
    lines = re.findall("<codeline>(.*?)</codeline>", text[text.index("Sizes"):])
    assert [re.sub("<[^>]*>", "", line.replace("<sp/>", " ")) for line in lines] == [
        "if (1)", "    uvhttp_thing_code();", "else", "    return;"]
    # Breathe removes spaces at the beginning of an element of a line.
    assert all(line.count("<highlight") == 1 and "<ref" not in line for line in lines)
    assert text.index("Sizes") < text.index("Before.") < text.index(lines[0]) < text.index("After.")
    assert "<simplesect" not in text


CLASSES = """/* Classes. */
namespace uvhttp
{
namespace detail
{
/* Of all. */
class Base
{
public:
    /* Comes. */
    void come();
};

/* Of nobody. */
class Inner
{
};
} // namespace detail

/* A class. */
class Thing : public detail::Base
{
public:
    /* Goes. */
    void go();

private:
    int hidden_;
};

/* A template. */
template <class F> struct Holder {
    F held;
};
template <class F> Holder(F) -> Holder<F>;
} // namespace uvhttp
"""


@needs_doxygen
def test_cpp_reference_has_public_names(project):
    write(project, "include/uvhttp/thing.hpp", CLASSES)
    assert reference.build(project, project / "out") == []
    text = {path.name: path.read_text() for path in (project / "out/xml").glob("*.xml")}
    shown = text["thing_8hpp.xml"]
    assert "uvhttp::Thing<" in shown and "uvhttp::detail::Base<" in shown
    assert "detail::Inner" not in shown and "namespaceuvhttp_1_1detail" not in shown
    assert ">come<" in text["classuvhttp_1_1detail_1_1Base.xml"]
    assert ">go<" in text["classuvhttp_1_1Thing.xml"] and "::hidden_<" not in text[
        "classuvhttp_1_1Thing.xml"]
    assert "kind=\"function\"" not in text["namespaceuvhttp.xml"]


def test_declarations_are_parsed():
    declarations = {
        one.name: (one.kind, one.documented)
        for one in apidoc.Header(HEADER).declarations
    }
    assert declarations == {
        "uvhttp_thing_t": ("struct", True), "uvhttp_thing_config_t": ("struct", True),
        "uvhttp_thing_cb": ("callback", True), "uvhttp_code_t": ("enum", True), "uvhttp_thing_new":
            ("function", True), "uvhttp_thing_free": ("function", True),
        "uvhttp_thing_size_which_is_a_name_that_is_too_long": ("function", True),
        "uvhttp_thing_code": ("function", True)
    }


def test_every_exported_function_is_found():
    # Found in another way than in the check: a name before a parenthesis on a line with an export
    # macro.
    import check_symbols
    seen = {name for name, (one, _) in apidoc.declared(ROOT).items() if one.kind == "function"}
    assert seen == set(check_symbols.declared(ROOT, apidoc.headers(ROOT))) and len(seen) > 200

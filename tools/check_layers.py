#!/usr/bin/python3
"""Checks who includes whom: the folders against tools/layers.txt, and that no include goes round in
a circle.

The format of the table is described at its top. Violations: an include edge the table does not
list, a third-party or system header in a folder that may not see it, a project header that does not
exist or is not written from src/, a cycle between files, a cycle in the table itself, and a folder
that the table does not know.
"""

import re

import csource

C11 = set(
    """assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal
    stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string tgmath threads
    time uchar wchar wctype"""
    .split())
# What the compiler brings: instruction sets and the sanitizers' interface.
COMPILER = re.compile(r"^(sanitizer/.*|\w*intrin|cpuid|arm_neon|arm_acle)\.h$")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.M)
ANY = "*"


class Layer:
    def __init__(self, folders, headers, system):
        self.folders, self.headers, self.system = folders, headers, system


def read_table(root, violations):
    layers = {}
    for number, line in enumerate(csource.read(root, "tools/layers.txt").splitlines(), 1):
        line = line.split("#")[0].strip()
        if not line:
            continue
        match = re.fullmatch(r"([\w/]+):([^|]*)\|([^|]*)\|([^|]*)", line)
        if not match:
            violations.append(
                f"tools/layers.txt:{number}: not of the form 'folder: folders | headers | posix'")
            continue
        name, *cells = match.groups()
        layers[name] = Layer(*[cell.split() for cell in cells])
    for name, layer in layers.items():
        for folder in layer.folders:
            if folder != ANY and not rows_of(folder, layers):
                violations.append(
                    f"tools/layers.txt: {name} may include {folder}, which is no folder of the "
                    f"table"
                )
    return layers


def rows_of(folder, layers):
    """What a folder in the table stands for: its own row, or those of all folders in it."""
    return {name for name in layers if name == folder or name.startswith(f"{folder}/")}


def find_cycle(edges):
    """One cycle of a graph {node: nodes} as a list that ends where it began, or None."""
    done, path = set(), []

    def visit(node):
        if node in path:
            return path[path.index(node):] + [node]
        if node in done:
            return None
        path.append(node)
        for target in sorted(edges.get(node, ())):
            cycle = visit(target)
            if cycle:
                return cycle
        done.add(path.pop())
        return None

    for node in sorted(edges):
        cycle = visit(node)
        if cycle:
            return cycle
    return None


def folder_of(path, layers):
    """The row for a file: of `src/codec/text/` that of `codec/text` when there is one, or that of
    `codec`."""
    if path.parts[0] == "include":
        return "public"
    if path.parts[0] != "src" or len(path.parts) < 3:
        return path.parts[0]
    inner = "/".join(path.parts[1:3])
    return inner if inner in layers else path.parts[1]


def resolve(path, name, files):
    """The project file that an include names, or None: <uvhttp/...>, from src/, and outside src/
    also from nearby or from the root."""
    places = [f"src/{name}", f"include/{name}"]
    if path.parts[0] != "src":
        places += [f"{path.parent.as_posix()}/{name}", f"{path.parts[0]}/{name}", name]
    return next((place for place in places if place in files), None)


def check_system_header(layer, name, cxx):
    if name.removesuffix(".h") in C11 or COMPILER.match(name) or "posix" in layer.system:
        return None
    if cxx and re.fullmatch(r"\w+", name):
        return None
    if ANY in layer.headers or name in layer.headers or name.split("/")[0] + "/" in layer.headers:
        return None
    return f"may not include <{name}>"


def check(root):
    violations = []
    layers = read_table(root, violations)
    allowed = {
        name: set().union(*(rows_of(folder, layers) for folder in layer.folders))
        for name, layer in layers.items()
    }
    cycle = find_cycle(allowed)
    if cycle:
        violations.append(
            f"tools/layers.txt: the folders go round in a circle: {' -> '.join(cycle)}")
    paths = csource.c_files(root, suffixes=(".c", ".h", ".cpp", ".hpp", ".inc"))
    files = {path.as_posix() for path in paths}
    edges = {}
    for path in paths:
        folder = folder_of(path, layers)
        layer = layers.get(folder)
        if layer is None:
            violations.append(f"{path}: tools/layers.txt has no row for the folder {folder}")
            continue
        edges[path.as_posix()] = set()
        text = csource.without_comments(csource.read(root, path), strings=False)
        for match in INCLUDE.finditer(text):
            where = f"{path}:{text.count(chr(10), 0, match.start()) + 1}"
            kind, name = match.groups()
            target = resolve(path, name, files)
            if target is None and kind == '"':
                violations.append(
                    f"{where}: there is no \"{name}\" (project headers are written from src/)")
            elif target is None and re.match(r"uvhttp(/|\.h$)", name):
                violations.append(f"{where}: there is no <{name}>")
            elif target is None:
                fault = check_system_header(layer, name, path.suffix in (".cpp", ".hpp"))
                if fault:
                    violations.append(f"{where}: {folder} {fault}")
            else:
                edges[path.as_posix()].add(target)
                to = folder_of(csource.pathlib.Path(target), layers)
                if to != folder and to not in allowed[folder] and ANY not in layer.folders:
                    violations.append(f"{where}: {folder} may not include {to} ({name})")
    cycle = find_cycle(edges)
    if cycle:
        violations.append(f"{cycle[0]}: includes go round in a circle: {' -> '.join(cycle)}")
    return violations


if __name__ == "__main__":
    csource.main(check, __doc__.splitlines()[0])

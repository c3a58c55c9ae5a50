"""Sets of routes for `./dev bench router`: patterns, and the paths that are looked up in them, the
same in every run. No set has a literal and a parameter side by side, which some routers refuse.
"""

import random

LOOKUPS = 1024
SIZES = (10, 100, 1000, 10000)

# An API in the manner of those that code hosts have: {} is one of several services.
API = """
/{}/users
/{}/users/:user
/{}/users/:user/keys
/{}/users/:user/keys/:key
/{}/users/:user/followers
/{}/users/:user/starred/:owner/:project
/{}/teams/:team
/{}/teams/:team/members
/{}/teams/:team/members/:user
/{}/projects/:owner/:project
/{}/projects/:owner/:project/branches
/{}/projects/:owner/:project/branches/:branch
/{}/projects/:owner/:project/commits/:commit
/{}/projects/:owner/:project/commits/:commit/status
/{}/projects/:owner/:project/issues
/{}/projects/:owner/:project/issues/:number
/{}/projects/:owner/:project/issues/:number/comments
/{}/projects/:owner/:project/issues/:number/labels/:label
/{}/projects/:owner/:project/releases/:release/files
/{}/projects/:owner/:project/tree/*path
/{}/search/projects
/{}/search/issues
/{}/status
/{}/events
/{}/assets/*path
""".split()

# In an order in which the first ones are a mixture, too.
MIXTURE = [API[number * 7 % len(API)] for number in range(len(API))]


def words(count, chance):
    """Names of five to twelve letters, all different."""
    found = {}
    while len(found) < count:
        name = "".join(chance.choice("bcdfghklmnprstvz") + chance.choice("aeiou")
                       for _ in range(chance.randint(2, 6)))
        found[name + ("" if name not in found else chance.choice("xyz"))] = None
    return list(found)[:count]


def patterns(shape, count, chance):
    if shape == "mixed":
        names = words(count // len(API) + 1, chance)
        return [template.replace("{}", name) for name in names for template in MIXTURE][:count]
    form = {"static": "/{}/{}/list", "one parameter": "/{}/{}/:id",
            "two parameters": "/{}/:owner/{}/:id", "wildcard": "/{}/{}/*path"}[shape]
    outer = words(max(1, round(count ** 0.5)), chance)
    inner = words(count // len(outer) + 1, chance)
    return [form.replace("{}", one, 1).replace("{}", other, 1)
            for one in outer for other in inner][:count]


def fill(pattern, chance):
    """A path for a pattern, and how many parameters it has."""
    segments, count = [], 0
    for segment in pattern.split("/"):
        if segment.startswith(":"):
            number = chance.random() < 0.5
            segment = (str(chance.randint(1, 10**chance.randint(1, 9))) if number
                       else chance.choice(VALUES))
            count += 1
        elif segment.startswith("*"):
            segment = "/".join(chance.choice(VALUES) for _ in range(chance.randint(1, 3)))
            count += 1
        segments.append(segment)
    return "/".join(segments), count


VALUES = words(200, random.Random(1))
SHAPES = ("static", "one parameter", "two parameters", "wildcard", "mixed")


def write(file, shape, count):
    """Writes a set: patterns, an empty line, and `route parameters path` for each lookup."""
    chance = random.Random(f"{shape} {count}")
    chosen = patterns(shape, count, chance)
    with open(file, "w", encoding="ascii") as out:
        out.write("\n".join(chosen) + "\n\n")
        for _ in range(LOOKUPS):
            number = chance.randrange(len(chosen))
            path, params = fill(chosen[number], chance)
            out.write(f"{number} {params} {path}\n")

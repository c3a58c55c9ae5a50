"""The settings for editors equal those of the formatter, and the issue templates are valid."""

import configparser
import pathlib

import pytest
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_editorconfig_matches_clang_format():
    editor = configparser.ConfigParser()
    editor.read_string("[top]\n" + (ROOT / ".editorconfig").read_text())
    style = yaml.safe_load((ROOT / ".clang-format").read_text())
    assert editor["*"]["indent_style"] == "space" and style.get("UseTab", "Never") == "Never"
    assert int(editor["*"]["indent_size"]) == style["IndentWidth"]
    assert int(editor["*.{c,h,cpp,hpp}"]["max_line_length"]) == style["ColumnLimit"]


@pytest.mark.parametrize("name", ["bug", "feature"])
def test_issue_template_is_a_form(name):
    form = yaml.safe_load((ROOT / f".github/ISSUE_TEMPLATE/{name}.yml").read_text())
    assert form["name"] and form["description"] and form["body"]
    fields = [field for field in form["body"] if field["type"] != "markdown"]
    assert len({field["id"] for field in fields}) == len(fields)
    assert all(field["attributes"]["label"] for field in fields)
    assert any(field.get("validations", {}).get("required") for field in fields)

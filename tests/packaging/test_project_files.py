# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Files about the project: dependency groups, one version, citation, templates of issues."""

import re
import tomllib
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
TEMPLATES = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"))
FORMS = [path for path in TEMPLATES if path.name != "config.yml"]


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def test_tools_of_developers_are_groups_and_not_extras():
    groups, extras = PYPROJECT["dependency-groups"], PYPROJECT["project"]["optional-dependencies"]
    assert {"test", "dev", "docs"} == groups.keys()
    assert groups.keys() & extras.keys() == set()
    included = {entry["include-group"] for group in groups.values() for entry in group if isinstance(entry, dict)}
    assert included <= groups.keys()


def test_the_makefile_installs_groups_that_exist_with_a_pip_that_knows_them():
    makefile = read("Makefile")
    assert set(re.findall(r"--group (\w+)", makefile)) == PYPROJECT["dependency-groups"].keys()
    for rule in re.split(r"\n\n", makefile):
        if "--group" in rule and "-m venv" in rule:
            assert rule.index('"pip>=25.1"') < rule.index("--group")
    core = makefile.partition("$(VENV)/.core: pyproject.toml")[2].partition("\n\n")[0]
    assert '"pip>=25.1"' in core  # every other rule of this environment depends on it


def test_the_version_is_written_in_one_place():
    version = PYPROJECT["project"]["version"]
    others = [ROOT / "CITATION.cff", ROOT / "Makefile", ROOT / "hatch_build.py", ROOT / "docs/conf.py"]
    others += [*(ROOT / "src").rglob("*.py"), *(ROOT / "tools").rglob("*.py")]
    assert [path for path in others if re.search(rf"\b{re.escape(version)}\b", path.read_text(encoding="utf-8"))] == []


def test_the_citation_agrees_with_the_project():
    citation, project = yaml.safe_load(read("CITATION.cff")), PYPROJECT["project"]
    assert citation["cff-version"] == "1.2.0"
    assert citation["license"] == project["license"]
    assert [author["name"] for author in citation["authors"]] == [author["name"] for author in project["authors"]]
    assert citation["title"].startswith("dperm") and citation["message"]
    assert "version" not in citation


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_a_form_for_issues_is_valid(path):
    """The rules of GitHub's syntax for issue forms that a mistake would break."""
    form = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert {"name", "description", "body"} <= form.keys() <= {"name", "description", "title", "labels", "body"}
    fields = [field for field in form["body"] if field["type"] != "markdown"]
    assert fields
    assert len({field["id"] for field in fields}) == len(fields)
    for field in form["body"]:
        assert field["type"] in {"markdown", "textarea", "input", "checkboxes", "dropdown"}
        assert ("value" if field["type"] == "markdown" else "label") in field["attributes"]
    assert len({field["attributes"]["label"] for field in fields}) == len(fields)


def test_reports_of_privacy_bugs_lead_to_the_security_page():
    assert {path.stem for path in FORMS} == {"bug_report", "feature_request", "privacy_bug"}
    assert "SECURITY.md" in read(".github/ISSUE_TEMPLATE/privacy_bug.yml")
    assert "SECURITY.md" in read(".github/ISSUE_TEMPLATE/bug_report.yml")
    assert yaml.safe_load(read(".github/ISSUE_TEMPLATE/config.yml"))["blank_issues_enabled"] is False

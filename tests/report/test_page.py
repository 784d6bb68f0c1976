# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The page: all 31 fields, plain words first, gaps marked, everything escaped, and nothing to load or to run."""

import json
import re
import sys
import warnings
from html.parser import HTMLParser
from itertools import pairwise

import pytest
from statements import RECEIPT, STATED, booked, fitted, kinds, of_record, profile, record

from dperm import ApproxDP, ParameterError, PureDP
from dperm.errors import NotPrivateWarning
from dperm.mechanisms import GaussianMechanism, LaplaceMechanism
from dperm.noise import NotPrivateBits
from dperm.report import Statement, fields, page, statement, write_statement
from dperm.report.fields import ITEMS
from dperm.report.summary import NO_GUARANTEE

VOID = {"meta", "link", "br", "img", "hr", "input"}
KINDS = pytest.mark.parametrize("kind", kinds())


class Seen(HTMLParser):
    """Tags, attributes and texts of a page; what is opened is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not {"style", "pre"} & set(self.open):
            self.text.append(data)

    @property
    def words(self) -> str:
        return " ".join(" ".join(self.text).split())

    def every(self, name: str) -> list[str]:
        return [attributes[name] for _, attributes in self.tags if attributes.get(name)]


@KINDS
def test_all_31_fields_are_there_and_gaps_are_marked(kind):
    found = kinds()[kind]
    seen = Seen(page(found, profile() if found.is_private else None))
    assert [name for name in seen.every("id") if name.startswith("field-")] == [f"field-{i}" for i in range(1, 32)]
    assert all(item.title in seen.words for item in ITEMS)
    assert seen.every("data-gap") == [name for item in ITEMS for name in item.keys if name in found.gaps]
    assert "not stated" not in seen.words


@KINDS
def test_the_page_loads_nothing_and_runs_nothing(kind):
    seen = Seen(page(kinds()[kind], profile() if kinds()[kind].is_private else None))
    names = {tag for tag, _ in seen.tags}
    assert not names & {"script", "link", "img", "iframe", "object", "embed", "base", "form", "video", "audio"}
    assert not [name for _, attributes in seen.tags for name in attributes if name.startswith("on") or name == "src"]
    assert all(link.startswith("#") for tag, a in seen.tags if tag != "a" for name, link in a.items() if "href" in name)
    style = next(re.finditer(r"<style>(.*?)</style>", page(kinds()[kind]), re.DOTALL))[1]
    assert "url(" not in style and "@import" not in style
    assert "default-src 'none'" in "".join(seen.every("content"))


def test_ids_are_unique_and_links_lead_somewhere():
    seen = Seen(page(kinds()["booked and filled"], profile()))
    ids = seen.every("id")
    assert len(set(ids)) == len(ids)
    inside = [link[1:] for link in [*seen.every("href"), *seen.every("xlink:href")] if link.startswith("#")]
    assert set(inside) <= set(ids)
    named = [name for value in seen.every("aria-labelledby") for name in value.split()]
    assert set(named) <= set(ids)


def test_plain_words_come_first_and_mathematics_and_json_are_folded():
    found = kinds()["with gaps"]
    text = page(found, profile())
    marks = ['class="status', "Guarantee", "Limitations", "Key facts", "Plots", "All fields"]
    places = [text.index(f">{mark}" if mark[0].isupper() else mark) for mark in [*marks, "Definitions and theorems"]]
    assert places[:3] == sorted(places[:3]) and places[3:] == sorted(places[3:])
    assert all(re.sub(r"'", "&#x27;", sentence) in text for sentence in found["meaning"])
    folded = text[text.index("Machine-readable") :]
    data = re.search(r"<pre>(.*?)</pre>", folded, re.DOTALL)[1]
    assert json.loads(data.replace("&quot;", '"').replace("&#x27;", "'").replace("&lt;", "<").replace("&amp;", "&"))
    assert "<details" in text and "<details open" not in text


def test_headings_go_down_one_step_at_a_time_and_tables_have_headers_with_a_scope():
    seen = Seen(page(kinds()["booked and filled"], profile()))
    levels = [int(tag[1]) for tag, _ in seen.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert all(a.get("scope") in ("row", "col") for tag, a in seen.tags if tag == "th")
    assert ("html", {"lang": "en"}) in seen.tags


@pytest.mark.parametrize("kind", ["seeded", "seeded and booked", "without noise"])
def test_what_is_not_private_shouts(kind):
    found = kinds()[kind]
    text = page(found, profile())
    seen = Seen(text)
    assert "<title>NOT PRIVATE" in text and '<body class="not-private">' in text
    assert '<p class="word">NOT PRIVATE</p>' in text and NO_GUARANTEE in text
    assert 'class="status bad"' in text and "What is covered</h2>" not in text
    assert 'id="profile"' not in text and 'id="trade-off"' not in text
    assert "none (NOT PRIVATE)" in seen.words


def test_jargon_is_behind_folds():
    public = {**record().public, "why": ["Objective perturbation was chosen.", "The determinant costs 0.25."]}
    text = page(of_record(record(public=public)))
    reasons = text[text.index('id="field-15"') : text.index('id="field-16"')]
    assert reasons.index("was chosen") < reasons.index("<details") < reasons.index("determinant")


def test_numbers_are_not_broken_and_points_have_names():
    text = page(kinds()["booked and filled"], profile())
    assert '<span class="whole">delta = 1e-5</span>' in text.partition("Plots")[0]
    assert '<th scope="col">accuracy</th>' in text[text.index('id="field-30"') :]


def test_the_picture_says_on_which_data_was_measured():
    utility = {**STATED["utility"], "on": "a public sample"}
    text = page(fitted().statement_.filled({"utility": utility}))
    assert "Bars: from low to high, as stated. Measured on: a public sample." in text


def test_a_weak_promise_is_called_weak():
    strong, weak = (GaussianMechanism.calibrate(1.0, ApproxDP(e, 1e-6, "add_remove"), dim=1) for e in (1.0, 30.0))
    texts = [page(statement(mechanism.release([1.0]))) for mechanism in (strong, weak)]
    assert ["Weak protection" in text for text in texts] == [False, False]
    texts = [page(statement(mechanism.release([1.0]), fields=STATED)) for mechanism in (strong, weak)]
    assert ['<div class="status weak"><p class="word">Weak protection ' in text for text in texts] == [False, True]
    assert '<div class="status strong"><p class="word">Private: strong protection for this' in texts[0]


@pytest.mark.parametrize(("epsilon", "factor"), [(0.5, "1.65"), (1.0, "2.72"), (800.0, "e^800")])
def test_the_promise_is_rounded_up(epsilon, factor):
    found = statement(LaplaceMechanism.calibrate(1.0, PureDP(1.0, "add_remove")).release(3.0))
    text = page(Statement({**found.fields, "parameters": {"epsilon": epsilon}}))
    assert f"by a factor of at most {factor}." in text and "remainder" not in text


def test_everything_is_escaped():
    hostile = '<script>alert("1")</script>\'&'
    given = {name: {hostile: [hostile, {hostile: hostile}]} for name in fields.STATED_BY_THE_USER}
    receipt = {name: hostile for name, value in RECEIPT.items() if isinstance(value, str)}
    found = booked(**receipt).filled({**given, "product": hostile, "links": [f"https://x/{hostile}", 'https://x/"y']})
    seen = Seen(page(found, profile()))
    assert not [tag for tag, _ in seen.tags if tag == "script"]
    assert hostile in seen.words
    assert [a["href"] for tag, a in seen.tags if tag == "a" and a["href"].startswith("https")] == [
        f"https://x/{hostile}",
        'https://x/"y',
    ]


@pytest.mark.parametrize("link", ["javascript:alert(1)", "data:text/html,x", "see https://x", "https://x y"])
def test_only_addresses_become_links(link):
    seen = Seen(page(fitted().statement_.filled({"links": [link]})))
    assert not [a for tag, a in seen.tags if tag == "a" and not a["href"].startswith("#")]


def test_without_matplotlib_there_are_tables_and_a_way_to_get_plots(monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    seen = Seen(page(kinds()["booked and filled"], profile()))
    assert "svg" not in {tag for tag, _ in seen.tags}
    assert 'pip install "dperm[plots]"' in seen.words
    assert [a["id"] for tag, a in seen.tags if tag == "figure"] == ["trade-off", "profile", "usefulness", "budget"]
    assert [tag for tag, _ in seen.tags].count("table") >= 4


def test_with_matplotlib_every_picture_is_there_and_two_pages_are_equal():
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    found = kinds()["booked and filled"]
    text = page(found, profile())
    seen = Seen(text)
    assert [tag for tag, _ in seen.tags].count("svg") == 4
    assert "dperm[plots]" not in text
    assert page(found, profile()) == text


def test_without_a_profile_there_is_no_curve():
    seen = Seen(page(fitted().statement_))
    assert "figure" not in {tag for tag, _ in seen.tags}
    assert [a["id"] for tag, a in Seen(page(booked())).tags if tag == "figure"] == ["budget"]


@KINDS
@pytest.mark.parametrize("suffix", [".html", ".HTML", ".md", ".json"])
def test_a_statement_is_written_in_the_form_of_the_suffix(tmp_path, kind, suffix):
    found = kinds()[kind]
    write_statement(tmp_path / f"s{suffix}", found)
    text = (tmp_path / f"s{suffix}").read_text(encoding="utf-8")
    expected = {".html": page(found), ".md": found.to_markdown(), ".json": found.to_json(indent=1) + "\n"}
    assert text == expected[suffix.lower()]
    assert [path.name for path in tmp_path.iterdir()] == [f"s{suffix}"]


def test_other_files_and_other_objects_are_refused_and_nothing_is_written(tmp_path):
    for name in ("s.pdf", "s", "s.html.gz"):
        with pytest.raises(ParameterError, match=r"path must end in \.html, \.md or \.json"):
            write_statement(tmp_path / name, fitted().statement_)
    with pytest.raises(ParameterError, match="statement must be a Statement"):
        write_statement(tmp_path / "s.html", STATED)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_there_is_left_as_it_is_unless_told_otherwise(tmp_path):
    path = tmp_path / "s.md"
    path.write_text("old", encoding="utf-8")
    with pytest.raises(ParameterError, match=r"'s\.md' exists and was not changed\. .* overwrite=True"):
        write_statement(path, fitted().statement_)
    assert path.read_text(encoding="utf-8") == "old"
    write_statement(path, fitted().statement_, overwrite=True)
    assert path.read_text(encoding="utf-8") == fitted().statement_.to_markdown()


@pytest.mark.parametrize("seed", [None, 1], ids=["private", "seeded"])
def test_a_release_is_written_with_its_statement_and_its_curve(tmp_path, seed):
    mechanism = LaplaceMechanism.calibrate(1.0, PureDP(1.0, "add_remove"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        release = mechanism.release(3.0, **({"bits": NotPrivateBits(seed)} if seed else {}))
    write_statement(tmp_path / "s.html", release, fields={"curator": "The office"})
    text = (tmp_path / "s.html").read_text(encoding="utf-8")
    assert text == page(statement(release, fields={"curator": "The office"}), release.profile)
    assert ('id="trade-off"' in text) == (seed is None) == ("<title>NOT PRIVATE" not in text)


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "s.md"
    path.write_text("old", encoding="utf-8")
    monkeypatch.setattr("os.fsync", lambda handle: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        write_statement(path, fitted().statement_, overwrite=True)
    assert path.read_text(encoding="utf-8") == "old"
    assert [item.name for item in tmp_path.iterdir()] == ["s.md"]

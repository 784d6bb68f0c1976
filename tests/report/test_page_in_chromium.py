# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The page in a real browser, from disk and with the network cut: all 31 fields, no request, nothing too wide."""

import json
import re
import shutil
import subprocess
from html import escape, unescape
from pathlib import Path

import pytest
from statements import booked, kinds, profile

from dperm.report import page, write_statement

CHROMIUM = shutil.which("chromium")
FLAGS = (
    "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-component-update "
    "--disable-sync --disable-default-apps --disable-extensions --disable-dev-shm-usage"
).split()
CUT = "--host-resolver-rules=MAP * ~NOTFOUND"
WIDTHS = (400, 1200)
MEASURE = """
function broken(page) {
  const found = [], texts = page.createTreeWalker(page.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    if (texts.currentNode.parentElement.closest("pre")) continue;
    for (const match of texts.currentNode.data.matchAll(/PrivateLogisticRegression|\\d[\\d.]*e-\\d+/g)) {
      const range = page.createRange();
      range.setStart(texts.currentNode, match.index);
      range.setEnd(texts.currentNode, match.index + match[0].length);
      if (new Set([...range.getClientRects()].map(box => Math.round(box.top))).size > 1) found.push(match[0]);
    }
  }
  return found;
}
function measured(frame) {
  const page = frame.contentDocument, root = page.documentElement, width = root.clientWidth;
  page.querySelectorAll("details").forEach(fold => { fold.open = true; });
  const inScroller = element => element.closest(".wide");
  const wide = [...page.body.querySelectorAll("*")].filter(element =>
    !inScroller(element) && element.getBoundingClientRect().right > width + 1);
  return {width, scroll: root.scrollWidth, wide: wide.map(element => element.outerHTML.slice(0, 120)),
    fields: [...page.querySelectorAll(".fields > div")].filter(item => item.offsetHeight > 20).map(item => item.id),
    broken: broken(page),
    requests: frame.contentWindow.performance.getEntriesByType("resource").map(entry => entry.name),
    plots: [...page.querySelectorAll("svg")].map(plot => Math.round(plot.getBoundingClientRect().width))};
}
"""
LONG = "a-word-without-any-space-" * 12

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on this machine")


def browse(path: Path, folder: Path, *flags: str) -> str:
    """The document after the browser has read it; every run has a profile of its own."""
    command = [CHROMIUM, *FLAGS, CUT, f"--user-data-dir={folder / 'user'}", *flags, "--dump-dom", path.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def framed(text: str) -> str:
    """The page in windows of several widths, side by side, and a script outside of it that measures them."""
    frames = "".join(
        f'<iframe style="width:{width}px;height:900px;border:0" srcdoc="{escape(text)}"></iframe>' for width in WIDTHS
    )
    tell = "document.body.dataset.found = JSON.stringify([...document.querySelectorAll('iframe')].map(measured));"
    return f"<!DOCTYPE html><body>{frames}<script>{MEASURE} window.onload = () => {{ {tell} }};</script></body>"


def measure(text: str, folder: Path) -> list[dict]:
    path = folder / "frames.html"
    path.write_text(framed(text), encoding="utf-8")
    found = re.search(r'data-found="([^"]*)"', browse(path, folder))
    assert found, "the script that measures did not run"
    return json.loads(unescape(found[1]))


def requests_of(path: Path, folder: Path) -> set[str]:
    """The addresses that the page asked for, by the browser's network log; the browser's own have no initiator."""
    log = folder / "net.json"
    browse(path, folder, f"--log-net-log={log}")
    started = (event.get("params", {}) for event in json.loads(log.read_text(encoding="utf-8"))["events"])
    return {found["url"] for found in started if found.get("initiator", "not an origin") != "not an origin"}


@pytest.mark.parametrize("kind", ["with gaps", "booked and filled", "seeded", "without noise"])
def test_every_field_is_shown_and_nothing_is_wider_than_the_window(tmp_path, kind):
    found = kinds()[kind]
    for width, seen in zip(WIDTHS, measure(page(found, profile()), tmp_path), strict=True):
        assert seen["width"] in range(width - 20, width + 1)  # a scroll bar may take some
        assert seen["fields"] == [f"field-{number}" for number in range(1, 32)]
        assert seen["scroll"] <= seen["width"] and seen["wide"] == []
        assert seen["requests"] == [] and seen["broken"] == []
        assert all(200 < plot <= seen["width"] for plot in seen["plots"])


def test_long_words_and_many_columns_do_not_widen_the_page(tmp_path):
    found = booked(dataset=LONG, account=LONG, unit=LONG).filled(
        {
            "curator": LONG,
            "product": LONG[:80],
            "links": [f"https://example.org/{LONG}"],
            "intended_use": {LONG: {LONG: {LONG: [LONG, LONG]}}},
            "data_domain": [{f"column {place}": 12345678 for place in range(30)}] * 2,
        }
    )
    for seen in measure(page(found, profile()), tmp_path):
        assert seen["scroll"] <= seen["width"] and seen["wide"] == []


def test_the_measure_finds_what_is_too_wide(tmp_path):
    text = page(kinds()["seeded"]).replace("<main>", '<main><div style="width:1500px">wide</div>')
    assert all(seen["scroll"] > seen["width"] and seen["wide"] for seen in measure(text, tmp_path))


def test_the_page_opens_from_disk_without_any_request(tmp_path):
    path = tmp_path / "statement.html"
    write_statement(path, kinds()["booked and filled"], profile())
    text = browse(path, tmp_path)
    assert re.findall(r'id="field-(\d+)"', text) == [str(number) for number in range(1, 32)]
    assert requests_of(path, tmp_path) == set()


def test_the_network_log_finds_a_request(tmp_path):
    path = tmp_path / "leaky.html"
    path.write_text('<!DOCTYPE html><img src="http://tracker.example/pixel.png">', encoding="utf-8")
    assert requests_of(path, tmp_path) == {"http://tracker.example/pixel.png"}


def test_the_policy_of_the_page_stops_what_would_slip_in(tmp_path):
    path = tmp_path / "leaky.html"
    slipped = '<body><img src="http://tracker.example/pixel.png"><script>document.title = "ran"</script>'
    path.write_text(re.sub("<body[^>]*>", slipped, page(kinds()["seeded"])), encoding="utf-8")
    assert requests_of(path, tmp_path) == set()
    assert "<title>ran" not in browse(path, tmp_path)

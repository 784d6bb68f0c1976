# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Check the built documentation in a browser: accessibility, formulas, width, and no request to the network.

Run ``make accessibility``, or ``python tools/accessibility.py build/docs --axe axe.min.js``. It needs playwright, a
Chromium browser and axe-core; without them it says so and checks nothing. For each page, in light and dark:

- axe-core finds nothing serious or critical (on the pages of ``AXE``; ``--all`` for every page);
- no page is wider than a window of 400 pixels: wide blocks and tables scroll inside;
- every formula is typeset, without an error of MathJax;
- nothing is requested from the network.
"""

import argparse
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

AXE = (
    "index.html",
    "getting-started.html",
    "start-officers.html",
    "lectures/bellet.html",
    "theory/accountant.html",
    "gallery.html",
    "api/index.html",
    "api/sklearn.html",
    "api/sklearn/PrivateLogisticRegression.html",
    "_static/statement.html",
)
SEVERE = ("serious", "critical")
NARROW, WIDE, TALLEST = 400, 1400, 2400
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
TYPESET = """() => {
  const left = [...document.querySelectorAll('span.math, div.math')].filter(one => !one.querySelector('mjx-container'));
  return [left.length, document.querySelectorAll('mjx-merror, [data-mjx-error]').length];
}"""
TOO_WIDE = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"


@dataclass(frozen=True)
class Site:
    """Built pages, the source text of axe-core, and a folder for screenshots, if any."""

    folder: Path
    axe: str
    screenshots: Path | None


def main() -> int:
    """Return 1 if something was found, 2 if the pages were not built."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="built pages, such as build/docs")
    parser.add_argument("--axe", type=Path, required=True, help="the file axe.min.js of axe-core")
    parser.add_argument("--all", action="store_true", help="run axe-core on every page")
    parser.add_argument("--only", nargs="*", help="pages, in place of all")
    parser.add_argument("--screenshots", type=Path, help="folder for pictures of all pages")
    arguments = parser.parse_args()
    if not (arguments.folder / "index.html").exists():
        print(f"{arguments.folder} has no index.html: run make docs first")
        return 2
    if missing := unavailable(arguments.axe):
        print(f"skipped: {missing}")
        return 0
    site = Site(arguments.folder.resolve(), arguments.axe.read_text(encoding="utf-8"), arguments.screenshots)
    pages = arguments.only or sorted(str(page.relative_to(site.folder)) for page in site.folder.rglob("*.html"))
    found = [*findings(site, pages, set(pages) if arguments.all else set(AXE))]
    print(*found, sep="\n")
    print(f"{len(pages)} pages, {len(found)} findings")
    return 1 if found else 0


def unavailable(axe: Path) -> str | None:
    """Return the part that is missing, if any."""
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError:
        return "playwright is not installed (pip install playwright)"
    if browser() is None:
        return f"there is no browser: none of {', '.join(BROWSERS)}"
    return None if axe.exists() else f"{axe} does not exist (npm install axe-core)"


def browser() -> str | None:
    """Return the path of the first Chromium browser found."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def findings(site: Site, pages: list[str], with_axe: set[str]) -> Iterator[str]:
    """Yield a line for each thing that is wrong."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=browser(), args=["--no-sandbox"])
        for scheme in ("light", "dark"):
            context = chromium.new_context(color_scheme=scheme, viewport={"width": WIDE, "height": 1000})
            requests: list[str] = []
            context.on("request", lambda request, seen=requests: seen.append(request.url))
            context.route("http*://**", lambda route: route.abort())
            page = context.new_page()
            for name in pages:
                requests.clear()
                yield from (f"{name}, {scheme}: {line}" for line in page_findings(page, site, name, with_axe, scheme))
                yield from (f"{name}, {scheme}: requests {url}" for url in requests if url.startswith("http"))
            context.close()
        chromium.close()


def page_findings(page: Any, site: Site, name: str, with_axe: set[str], scheme: str) -> Iterator[str]:
    """Yield what is wrong with one page in one color scheme."""
    page.set_viewport_size({"width": WIDE, "height": 1000})
    page.goto((site.folder / name).as_uri())
    if page.locator(".math").count():
        page.wait_for_function("() => window.MathJax?.startup?.promise")
        page.evaluate("() => MathJax.startup.promise.then(() => true)")
        left, wrong = page.evaluate(TYPESET)
        if left or wrong:
            yield f"{left} formulas are not typeset, {wrong} have errors"
    photograph(page, site, name, f"{scheme}-{WIDE}")
    if name in with_axe:
        yield from axe_findings(page, site)
    page.set_viewport_size({"width": NARROW, "height": 900})
    if (excess := page.evaluate(TOO_WIDE)) > 0:
        yield f"{excess} pixels wider than a window of {NARROW}"
    photograph(page, site, name, f"{scheme}-{NARROW}")


def axe_findings(page: Any, site: Site) -> Iterator[str]:
    """Yield the serious and critical violations, each with its first places."""
    page.evaluate(site.axe)
    for violation in page.evaluate("() => axe.run().then(found => found.violations)"):
        if violation["impact"] in SEVERE:
            places = [" ".join(map(str, node["target"])) for node in violation["nodes"]]
            yield f"{violation['impact']} {violation['id']}, {len(places)} times: {'; '.join(places[:3])}"


def photograph(page: Any, site: Site, name: str, kind: str) -> None:
    """Write a picture of the first screens of a page, if asked to."""
    if site.screenshots is not None:
        file = site.screenshots / kind / f"{name.replace('/', '__').removesuffix('.html')}.png"
        height = min(page.evaluate("() => document.documentElement.scrollHeight"), TALLEST)
        clip = {"x": 0, "y": 0, "width": page.viewport_size["width"], "height": height}
        page.screenshot(path=str(file), full_page=True, clip=clip)


if __name__ == "__main__":
    sys.exit(main())

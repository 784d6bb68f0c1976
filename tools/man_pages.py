# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Write a manual page for ``dperm`` and for each of its verbs, from the help texts of the command line.

Run: ``python tools/man_pages.py FOLDER``; ``make man`` writes to build/man, and hatch_build.py puts the pages into the
wheel. Generators for click applications (click-man 0.6) do not see the options of typer, which contains its own click.
"""

import argparse
import inspect
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


def main() -> None:
    """Write the pages to the folder of the command line, in place of older ones."""
    parser = argparse.ArgumentParser(description="Write the manual pages of dperm.")
    parser.add_argument("folder", type=Path, help="folder for the pages; created if it does not exist")
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("dperm*.1"):
        old.unlink()
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")


def pages() -> dict[str, str]:
    """Return the text of each page by file name: dperm.1, dperm-fit.1, dperm-ledger-open.1 and others."""
    import typer.main

    sys.path.insert(0, str(ROOT / "src"))  # an isolated build removes the paths of an editable installation
    from dperm.cli.app import app

    command = typer.main.get_command(app)
    return {f"{'-'.join(names)}.1": "\n".join(_page(names, context)) + "\n" for names, context in _tree(command)}


def release() -> tuple[str, str]:
    """Return the version of the package, and its date in the changelog."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    dates = re.findall(rf"^## \[{re.escape(version)}\] - (\d{{4}}-\d{{2}}-\d{{2}})$", changelog, re.MULTILINE)
    if len(dates) != 1:
        raise SystemExit(f"CHANGELOG.md must have one heading for version {version}, found {len(dates)}.")
    return version, dates[0]


def _tree(command: Any, names: tuple[str, ...] = ("dperm",), parent: Any = None) -> Iterator[tuple[Any, Any]]:
    """Yield the words and the context of a command and of all visible verbs below it."""
    context = command.context_class(command, info_name=names[-1], parent=parent)
    yield names, context
    for name, verb in getattr(command, "commands", {}).items():
        if not verb.hidden:
            yield from _tree(verb, (*names, name), context)


def _page(names: tuple[str, ...], context: Any) -> Iterator[str]:
    """Yield the lines of one page."""
    command, (version, date) = context.command, release()
    yield f'.TH {"-".join(names).upper()} 1 {date} "dperm {version}" "dperm manual"'
    short = command.short_help or _paragraphs(command.help)[0].partition(". ")[0]
    yield from (".SH NAME", f"{_escaped('-'.join(names))} \\- {_escaped(' '.join(short.split()).rstrip('.'))}")
    pieces = " ".join(command.collect_usage_pieces(context))
    yield from (".SH SYNOPSIS", f".B {_escaped(' '.join(names))}", _escaped(pieces), ".SH DESCRIPTION")
    for place, paragraph in enumerate(_paragraphs(command.help)):
        if place:
            yield ".PP"
        yield from _filled(paragraph)
    kinds: dict[str, list[tuple[str, str]]] = {"argument": [], "option": []}
    for param in command.get_params(context):
        if record := param.get_help_record(context):
            kinds[param.param_type_name].append((record[0].partition(" <")[0], record[1]))
    yield from _definitions("ARGUMENTS", kinds["argument"])
    yield from _definitions("OPTIONS", kinds["option"])
    verbs = {name: verb for name, verb in getattr(command, "commands", {}).items() if not verb.hidden}
    yield from _definitions("COMMANDS", [(name, verb.short_help or "") for name, verb in verbs.items()])
    related = ["-".join(names[:-1])] if names[1:] else []
    related += [f"{'-'.join(names)}-{name}" for name in verbs]
    if related:
        yield ".SH SEE ALSO"
        yield from (
            f".BR {_escaped(name)} (1){',' if place < len(related) else ''}" for place, name in enumerate(related, 1)
        )


def _paragraphs(text: str) -> list[str]:
    return re.split(r"\n{2,}", inspect.cleandoc(text))


def _filled(paragraph: str) -> Iterator[str]:
    """Yield a paragraph; the line breaks of one that starts with a backspace stay."""
    lines = paragraph.replace("\b\n", "\b").splitlines()
    if not paragraph.startswith("\b"):
        yield from map(_escaped, lines)
        return
    yield ".nf"
    yield from (_escaped(line.lstrip("\b")) for line in lines)
    yield ".fi"


def _definitions(title: str, records: list[tuple[str, str]]) -> Iterator[str]:
    if records:
        yield f".SH {title}"
    for name, text in records:
        yield from (".TP", f".B {_escaped(name)}", _escaped(" ".join(text.split())) or "\\&")


def _escaped(line: str) -> str:
    """Escape backslashes, hyphens that are to be copied, and a first character that troff would take for a command."""
    text = line.replace("\\", "\\e").replace("-", "\\-").rstrip()
    return f"\\&{text}" if text[:1] in {".", "'"} else text


if __name__ == "__main__":
    main()

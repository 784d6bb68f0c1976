# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm reproduce``: claims and figures of the lectures, run as lessons."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dperm.cli.options import AsJson
from dperm.cli.running import VIOLATION, note, progress_bar, reported_errors
from dperm.errors import ParameterError

if TYPE_CHECKING:
    from dperm.reproduce import Lesson, Outcome

    Result = tuple[Lesson, Outcome]

HELP = """Check the claims of five lectures on differential privacy, and redraw their figures (sources: docs/errata.md).

Without NAME, the command lists the lessons. The name of a lecturer selects all lessons from that lecturer's lecture;
"all" selects every lesson and takes a minute or two. Each lesson states a claim from a lecture, corrects it if
necessary, and checks it numerically. The output is a table and a conclusion; --folder also saves a plot. The exit code
is 5 if a check fails. The data are synthetic and the noise is drawn from a seed: results are reproducible and NOT
PRIVATE.

\b
Examples:
  dperm reproduce
  dperm reproduce printed_algorithm_2 --quick --folder lectures
  dperm reproduce printed_algorithm_2 --quick --seed 1 --json
"""
ALL = "all"


def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...|all", show_default=False, help="Lessons or lecturers; omit to list the lessons."
        ),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--folder",
            metavar="FOLDER",
            show_default=False,
            help="Write NAME.png, NAME.md and NAME.json to this folder.",
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Use fewer settings and repetitions; takes a second or two.")
    ] = False,
    seed: Annotated[
        int, typer.Option("--seed", metavar="S", help="Seed for the synthetic data and the simulated noise.")
    ] = 0,
    force: Annotated[bool, typer.Option("--force", help="Overwrite existing files.")] = False,
    json: AsJson = False,
) -> None:
    """List the lessons, or run and write them."""
    with reported_errors():
        if not names:
            _list(folder, json)
            return
        from dperm import checks

        lessons, seed = _chosen(names), checks.count("--seed", seed, least=0)
        _require_folder(lessons, folder, force)
        results = []
        for result in _results(lessons, quick, seed):
            results.append(result)
            files = _written(result, folder)
            if not json:
                _print(result, files)
        if json:
            _print_json(results, folder)
        _require_all(results)


def _list(folder: Path | None, json: bool) -> None:
    from dperm.cli.output import print_json, print_table
    from dperm.reproduce import LESSONS
    from dperm.reproduce.writing import about

    if folder is not None:
        raise ParameterError("--folder: without a lesson nothing is written. Name lessons, or give all.")
    if json:
        print_json({"lessons": [about(lesson) for lesson in LESSONS]})
    else:
        print_table(("name", "lecture", "title"), [(one.name, one.source, one.title) for one in LESSONS])


def _chosen(names: Sequence[str]) -> "tuple[Lesson, ...]":
    """Return the named lessons in their order, each once."""
    found = [lesson for name in names for lesson in _named(name)]
    return tuple({lesson.name: lesson for lesson in found}.values())


def _named(name: str) -> "tuple[Lesson, ...]":
    """Return the lessons of a name: a lesson, the author of a lecture, or "all", in any case."""
    from dperm.reproduce.catalogue import LESSONS

    wanted = name.lower().replace("-", "_")
    if wanted == ALL:
        return LESSONS
    found = tuple(one for one in LESSONS if wanted == one.name or wanted in map(str.lower, _authors(one)))
    if not found:
        raise _unknown(name, LESSONS)
    return found


def _authors(lesson: "Lesson") -> list[str]:
    return lesson.source.split(", ")


def _unknown(name: str, lessons: "Sequence[Lesson]") -> ParameterError:
    """Return an error with similar names and the lectures."""
    from difflib import get_close_matches

    from dperm.checks import shown

    authors = sorted({author for lesson in lessons for author in _authors(lesson)})
    known = {word.lower(): word for word in (*(lesson.name for lesson in lessons), *authors, ALL)}
    near = [known[word] for word in get_close_matches(name.lower().replace("-", "_"), known, 3)]
    hint = f"Did you mean {' or '.join(near)}? " if near else ""
    return ParameterError(
        f"NAME must be a lesson, a lecture ({', '.join(authors)}) or all, got {shown(name)}. {hint}"
        '"dperm reproduce" lists the lessons.'
    )


def _require_folder(lessons: "Sequence[Lesson]", folder: Path | None, force: bool) -> None:
    from dperm.cli.output_files import require_free, require_matplotlib
    from dperm.reproduce.writing import files_of

    if folder is None:
        return
    require_matplotlib("--folder")
    if folder.exists() and not folder.is_dir():
        raise ParameterError(
            f"--folder: {folder} is a file. Give the name of a folder; it is created if it does not exist."
        )
    folder.mkdir(parents=True, exist_ok=True)
    for lesson in lessons:
        for file in files_of(lesson, folder):
            require_free("--folder", file, force=force)


def _results(lessons: "Sequence[Lesson]", quick: bool, seed: int) -> "Iterator[Result]":
    from dperm.reproduce import Effort

    for place, lesson in enumerate(lessons, 1):
        count = f"{place} of {len(lessons)}: " if len(lessons) > 1 else ""
        with progress_bar(f"{count}{lesson.name}") as progress:
            outcome = lesson.run(Effort(seed, quick, progress))
        yield lesson, outcome


def _written(result: "Result", folder: Path | None) -> tuple[Path, ...]:
    from dperm.reproduce.writing import write

    return () if folder is None else write(*result, folder)


def _print(result: "Result", files: Sequence[Path]) -> None:
    from dperm.cli.output import print_paragraphs, print_table
    from dperm.reproduce.writing import describe_check, format_cell

    lesson, outcome = result
    typer.echo(f"{lesson.name}: {lesson.title} ({lesson.source}; {', '.join(lesson.tags)})")
    print_paragraphs([lesson.claim])
    typer.echo()
    print_table(outcome.table.columns, [[format_cell(cell) for cell in row] for row in outcome.table.rows])
    print_paragraphs([outcome.sentence])
    typer.echo()
    for check in outcome.checks:
        typer.echo(describe_check(check))
    for file in files:
        typer.echo(f"Written: {file}")
    typer.echo()


def _print_json(results: "Sequence[Result]", folder: Path | None) -> None:
    from dperm.cli.output import print_json
    from dperm.reproduce.writing import as_dict, files_of

    found = [as_dict(lesson, outcome) for lesson, outcome in results]
    files = [] if folder is None else [str(file) for lesson, _ in results for file in files_of(lesson, folder)]
    print_json({"lessons": found, "files": files})


def _require_all(results: "Sequence[Result]") -> None:
    """Exit with code 5 if a check failed."""
    failed = [lesson.name for lesson, outcome in results if not all(check.holds for check in outcome.checks)]
    if failed:
        note(f"A check failed in: {', '.join(failed)}.")
        raise typer.Exit(VIOLATION)

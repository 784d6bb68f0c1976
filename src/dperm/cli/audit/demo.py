# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm audit demo``: three attacks, with and without differential privacy."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dperm.cli.audit import options
from dperm.cli.options import AsJson
from dperm.cli.running import progress_bar, reported_errors

if TYPE_CHECKING:
    from dperm.audit.demo import DemoAttack, DemoResult
    from dperm.audit.demo.result import Cell

HELP = """Run three attacks on models with and without differential privacy, in about ten seconds.

The attacks reconstruct patient records from two releases, extract a planted secret from a text model, and infer
membership. The data are synthetic; the methods and their noise are those of dperm.

\b
Examples:
  dperm audit demo
  dperm audit demo --plot-folder pictures
  dperm audit demo --seed 1 --json
"""


def demo(
    plot_folder: Annotated[
        Path | None,
        typer.Option("--plot-folder", metavar="FOLDER", show_default=False, help="Folder for a plot of each attack."),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed", metavar="S", show_default="random", help="Seed for the synthetic data; the noise is never seeded."
        ),
    ] = None,
    force: options.Force = False,
    json: AsJson = False,
) -> None:
    """Run the three attacks, with plots if requested."""
    with reported_errors():
        from dperm.audit.demo import run
        from dperm.cli.output import print_json

        if plot_folder is not None:
            _require_folder(plot_folder, force)
        with progress_bar("Attacking") as progress:
            result = run(seed=seed, progress=progress)
        files = [] if plot_folder is None else _drawn(result, plot_folder)
        if json:
            print_json({**result.as_dict(), "files": [str(file) for file in files]})
            return
        _print(result)
        for file in files:
            typer.echo(f"Written: {file}")


def _require_folder(folder: Path, force: bool) -> None:
    from dperm.cli.output_files import require_matplotlib
    from dperm.errors import ParameterError
    from dperm.report.audit_plots import DEMO_FILES

    require_matplotlib("--plot-folder")
    taken = [folder / name for name in DEMO_FILES.values() if (folder / name).exists()]
    if taken and not force:
        raise ParameterError(f"--plot-folder: {taken[0]} exists. Give another folder, or add --force.")
    folder.mkdir(parents=True, exist_ok=True)


def _drawn(result: "DemoResult", folder: Path) -> list[Path]:
    from dperm.audit.demo.demonstration import DELTA, EPSILON
    from dperm.privacy import ApproxDP, PureDP
    from dperm.report.audit_plots import DEMO_FILES, DEMO_ROC, plot_part

    pure, approximate = PureDP(EPSILON, "add_remove"), ApproxDP(EPSILON, DELTA, "add_remove")
    files = [(part, folder / DEMO_FILES[part.title]) for part in result.parts if part.points]
    for part, file in files:
        plot_part(part, guarantee=pure if part.title == DEMO_ROC else approximate, path=file)
    return [file for _, file in files]


def _print(result: "DemoResult") -> None:
    for part in result.parts:
        _print_part(part)
    typer.echo(f"Guarantee of the models with DP: {result.guarantee}.")


def _print_part(part: "DemoAttack") -> None:
    from dperm.cli.output import print_paragraphs, print_table

    typer.echo(f"{part.title}\n")
    print_table(part.table.columns, [[_cell(cell) for cell in row] for row in part.table.rows])
    print_paragraphs([part.sentence])
    typer.echo()


def _cell(cell: "Cell") -> str:
    return f"{cell:.3g}" if isinstance(cell, float) else str(cell)

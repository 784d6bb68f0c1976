# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Campaigns of killing: the writers, or the server under them."""

import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ledger_crew import Crew
from ledger_faults import World
from ledger_reader import read_books

from dperm.ledger import verify


def kills(
    location: str, folder: str, kills: int, seed: int, writers: int = 8, checks: int = 20, careless: str = ""
) -> dict[str, Any]:
    """Kill so many writers, at random moments and at the points of their traps, and look into the books meanwhile."""
    world = World.made(location, folder, careless)
    crew, looked = Crew(world, writers, seed), 0
    while crew.kills < kills - writers:
        crew.hire()
        time.sleep(crew.generator.uniform(0, 0.03))
        crew.bury()
        if crew.living and crew.generator.random() < 0.4:
            crew.kill(crew.generator.choice(sorted(crew.living)))
        if crew.kills * checks >= kills * (looked + 1):
            looked += 1
            if bad := world.audit().bad:
                crew.dismiss()
                return outcome(world, crew, looked, bad)
    crew.hire()
    crew.dismiss()
    return outcome(world, crew, looked, [])


def patience(location: str, folder: str, seed: int, writers: int = 8) -> dict[str, Any]:
    """Writers that nobody kills, until a file named "stop" is there; their server comes and goes meanwhile."""
    world = World.made(location, folder)
    crew = Crew(world, writers, seed, patient=True)
    crew.hire(traps=0.0)
    while not (Path(folder) / "stop").exists():
        time.sleep(0.01)
    crew.bury()
    gone = [] if len(crew.living) == writers else ["a writer gave up"]
    crew.dismiss()
    return outcome(world, crew, 0, gone)


def outcome(world: World, crew: Crew, looked: int, bad: list[str]) -> dict[str, Any]:
    """The figures, with the books read for the last time, by dperm too."""
    figures, verified = world.audit(), verify(world.location)
    small = next(meter for meter in read_books(world.location).meters if meter[0] == "small")
    return {
        "kills": crew.kills,
        "points": crew.points,
        "checks": looked + 1,
        "small": [small[3], small[2]],
        "bad": bad + figures.bad + list(verified.problems),
        "line": figures.line(),
        **asdict(figures),
    }

# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C in the middle of ``dperm fit``: exit 130, nothing half-written, and what was charged is said and true.

Every process is sent a real signal, at a point that is the same in every run.
"""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from warm_python import libraries

from dperm.accounting.budget import State
from dperm.cli.interrupts import Interrupts
from dperm.cli.running import Interruption
from dperm.ledger import Ledger
from dperm.sklearn.files import load_stored

ENTRY = "from dperm.cli import main; main()"
FIT = "fit data.csv --target income --epsilon 1 --schema schema.toml --ledger census.ledger --request-id a".split()
AT = """
import importlib, os, signal
module, _, name = {place!r}.rpartition(".")
try:
    owner = importlib.import_module(module)
except ModuleNotFoundError:
    package, _, kind = module.rpartition(".")
    owner = getattr(importlib.import_module(package), kind)
before = getattr(owner, name)
def interrupted(*given, **named):
    if {after}:
        found = before(*given, **named)
        for _ in range({times}): os.kill(os.getpid(), signal.{number})
        return found
    for _ in range({times}): os.kill(os.getpid(), signal.{number})
    return before(*given, **named)
setattr(owner, name, interrupted)
"""


def run(place, *, after=False, number="SIGINT", times=1, arguments=FIT):
    """The function is replaced before another module of the package has it."""
    code = AT.format(place=place, after=after, number=number, times=times) + ENTRY
    return libraries().run(code, arguments, cwd=Path.cwd(), environment=os.environ)


def states():
    return [one.state for one in Ledger("census.ledger").bookings()]


def half_written():
    return [path.name for path in Path().iterdir() if path.name.startswith(".")]


def assert_interrupted(done, code=130):
    assert done.returncode == code, done.stderr
    assert "Interrupted." in done.stderr and "Traceback" not in done.stderr and "SECRET" not in done.stderr
    assert half_written() == []


@pytest.mark.parametrize(
    "place",
    [
        "dperm.cli.fit_request.read_schema",
        "dperm.ledger.Ledger.check",
        "dperm.cli.output_files.require_free",
        "dperm.data.large_tables.table",
        "dperm.data.encoder.PublicEncoder.transform",
        "dperm.data.local_engines.ThreadsEngine.hold",
        "dperm.data.passes.TablePasses.read_manifest",
    ],
)
def test_before_the_charge_nothing_is_charged_and_that_is_said(opened, place):
    opened()
    done = run(place)
    assert_interrupted(done)
    assert "Nothing was charged" in done.stderr and "no model was written" in done.stderr.lower()
    assert states() == [] and not Path("model.dperm").exists()


def test_while_the_data_are_read_nothing_is_charged(opened):
    opened()
    os.mkfifo("pipe.csv")
    arguments = [argument.replace("data.csv", "pipe.csv") for argument in FIT]
    command = subprocess.Popen([sys.executable, "-c", ENTRY, *arguments], stderr=subprocess.PIPE, text=True)
    with open("pipe.csv", "w") as pipe:  # waits for the command to open the other end
        pipe.write("age,work,hours,income\n40,private,10,<=50K\n")
        pipe.flush()
        said = None
        while said is None:
            command.send_signal(signal.SIGINT)
            with suppress(
                subprocess.TimeoutExpired
            ):  # one that comes just before the command waits for data is not seen
                said = command.communicate(timeout=5)[1]
    assert command.returncode == 130 and "Nothing was charged" in said and "Traceback" not in said
    assert states() == [] and not Path("model.dperm").exists() and half_written() == []


@pytest.mark.parametrize(
    "place",
    ["dperm.erm.minimize.minimize", "dperm.methods.objective.ObjectivePlan.learn", "dperm.mechanisms.run.digest"],
)
def test_after_the_charge_it_stays_charged_and_that_is_said(opened, place):
    ledger = opened()
    done = run(place)
    assert_interrupted(done)
    (booked,) = ledger.bookings()
    assert booked.state is State.BURNED
    assert "Charged to account 'census'" in done.stderr and "request id a, and nothing was released" in done.stderr
    assert "No model was written." in done.stderr and not Path("model.dperm").exists()


@pytest.mark.parametrize("after", [False, True])
def test_while_it_is_charged_the_charge_is_finished_and_burned(opened, after):
    ledger = opened()
    done = run("dperm.ledger.Ledger.reserve", after=after)
    assert_interrupted(done)
    (booked,) = ledger.bookings()
    assert booked.state is State.BURNED and "interrupted" in booked.reason
    assert "Charged to account 'census'" in done.stderr and not Path("model.dperm").exists()


@pytest.mark.parametrize(
    ("place", "after"),
    [
        ("dperm.ledger.LedgerReservation.commit", False),
        ("dperm.ledger.LedgerReservation.commit", True),
        ("dperm.sklearn.files.save", False),
        ("numpy.savez", False),
        ("numpy.savez", True),
        ("dperm.cli.fit_report.print_fitted", True),
    ],
)
def test_once_the_release_is_booked_the_model_is_written_first(opened, place, after):
    ledger = opened()
    done = run(place, after=after)
    assert_interrupted(done)
    (booked,) = ledger.bookings()
    assert booked.state is State.COMMITTED
    assert load_stored("model.dperm").estimator._fitted.record.ledger["digest"] == booked.digest
    assert "and the release is recorded" in done.stderr and "The model is complete, and written." in done.stderr
    assert "Written: model.dperm" in done.stdout


def test_who_insists_is_obeyed_and_told_that_the_model_is_lost(opened):
    ledger = opened()
    done = run("numpy.savez", times=2)
    assert_interrupted(done)
    assert [one.state for one in ledger.bookings()] == [State.COMMITTED]
    assert "The model was not written, and is lost." in done.stderr and not Path("model.dperm").exists()


def test_a_request_to_terminate_is_taken_likewise(opened):
    opened()
    done = run("dperm.mechanisms.run.digest", number="SIGTERM")
    assert_interrupted(done, code=143)
    assert states() == [State.BURNED] and "Charged to account" in done.stderr


def test_without_a_ledger_there_is_nothing_to_charge(desk):
    arguments = FIT[: FIT.index("--ledger")]
    done = run("dperm.methods.objective.ObjectivePlan.learn", arguments=arguments)
    assert_interrupted(done)
    assert "Nothing was charged: there is no --ledger." in done.stderr


def test_an_interrupted_file_that_existed_is_as_it_was(opened):
    opened()
    Path("model.dperm").write_text("old")
    assert_interrupted(run("dperm.mechanisms.run.digest", arguments=[*FIT, "--force"]))
    assert Path("model.dperm").read_text() == "old"


@pytest.mark.parametrize("verb", ["predict model.dperm data.csv -o out.csv", "report model.dperm -o out.md"])
def test_other_verbs_leave_nothing_half_written_either(desk, ends, verb):
    ends(0, "fit data.csv --epsilon 1 --schema schema.toml")
    done = run("os.replace", arguments=verb.split())
    assert done.returncode == 130 and "Interrupted." in done.stderr and "Traceback" not in done.stderr
    assert not list(Path().glob("out.*")) and half_written() == []


def test_before_a_verb_begins_it_ends_quietly():
    code = "import os, signal, typer\ntyper.Typer = lambda **given: os.kill(os.getpid(), signal.SIGINT)\n" + ENTRY
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "")


def test_a_signal_waits_while_it_is_held_and_comes_afterwards():
    with Interrupts() as interrupts, pytest.raises(Interruption):
        with interrupts.delayed():
            with interrupts.delayed():
                os.kill(os.getpid(), signal.SIGINT)
            reached = interrupts.arrived
        pytest.fail("it did not come")
    assert reached == signal.SIGINT
    assert signal.getsignal(signal.SIGINT) is not interrupts._arrive


def test_an_error_inside_is_not_replaced_by_the_signal_that_waits():
    with Interrupts() as interrupts, pytest.raises(ZeroDivisionError), interrupts.delayed():
        os.kill(os.getpid(), signal.SIGINT)
        raise ZeroDivisionError

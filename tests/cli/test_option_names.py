# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The command line spells the arguments of the library as its own options."""

from dperm.cli import option_names
from dperm.cli.option_names import option_name, spell_option


def test_options_have_the_names_of_arguments_or_those_of_one_table(refused, monkeypatch):
    assert option_name("request_id") == "--request-id" and option_name("random_state") == "--seed"
    line = "plan --n 800 --dim 3 --epsilon 1 --feature-norm 0"
    assert "--feature-norm must be" in refused(line)
    monkeypatch.setitem(option_names.OPTIONS, "feature_norm", "--balance")
    assert "--balance must be" in refused(line)


def test_arguments_that_are_no_options_of_the_command_are_spelled_as_in_python(refused):
    assert spell_option("n", "5") == "n=5"
    assert "noise_multiplier must be" in refused('account --adjacency add_remove --delta 1e-5 "gaussian(0)"')

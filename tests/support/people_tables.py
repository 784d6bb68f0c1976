# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Tables of people as CSV files, with a secret in each record that nobody may see."""

import csv


def people(count, first=0):
    """Records as text, the same in every run: age (with gaps), work, hours, income, pay and a name nobody may see."""
    works = ("private", "public", "self", "ship's cook", "")
    rows = []
    for place in range(first, first + count):
        age, hours = 17 + place * 37 % 74, place * 53 % 81
        label = ">50K" if age + hours > 90 else "<=50K"
        shown = "" if place % 11 == 0 else str(age)
        rows.append([shown, works[place * 7 % 5], str(hours), label, str(age + hours), f"SECRET-{place}"])
    return rows


HEADER = ["age", "work", "hours", "income", "pay", "name"]


def write_csv(path, rows, header=HEADER):
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    return path


RAW_HEADER = ["id", "age", "work", "hours", "income", "pay"]


def raw_people(count):
    """Records with gaps, words among numbers, and an id that nobody may see."""
    works = ("private", "public", "self", "", "SECRET-cook")
    rows = []
    for place in range(count):
        age, hours = 17 + place * 37 % 74, place * 53 % 81
        shown = ("", "SECRET-age", "NA")[place % 3] if place % 13 == 0 else str(age)
        work = works[min(place * 7 % 5, 3)] if place != 100 else works[4]
        rows.append([f"SECRET-{place}", shown, work, str(hours), ">50K" if age + hours > 90 else "<=50K", age + hours])
    return rows


def write_raw(rows):
    with open("raw.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([RAW_HEADER, *rows])

"""Which command to run, from three questions: `alphasynth choose`. Nothing of the table is read."""

from __future__ import annotations

import shlex
import sys
import textwrap
from enum import StrEnum
from typing import Annotated, NamedTuple, TypeVar

import typer

from alphasynth.errors import InputError


class Who(StrEnum):
    """Who may see the synthetic table."""

    ANYONE = "anyone"
    PARTNERS = "partners"
    INSIDE = "inside"


class What(StrEnum):
    """What is synthesized."""

    COLUMN = "column"
    COVARIATES = "covariates"
    TABLE = "table"


class Promise(StrEnum):
    """What the promise is about."""

    EVERY = "every-table"
    THIS = "this-table"


QUESTIONS: dict[type[StrEnum], tuple[str, dict[StrEnum, str]]] = {
    Who: (
        "Who will see the synthetic table?",
        {
            Who.ANYONE: "it is published, or handed on without a contract",
            Who.PARTNERS: "people bound by a contract, outside the house",
            Who.INSIDE: "only people who may see the original as well",
        },
    ),
    What: (
        "What is synthesized?",
        {
            What.COLUMN: "one column by itself (a salary)",
            What.COVARIATES: "one column beside others that are public and stay as they are (visits by age and sex)",
            What.TABLE: "all columns of a table",
        },
    ),
    Promise: (
        "Must the promise hold for every table that there could be, or is an estimate for this one enough?",
        {
            Promise.EVERY: "differential privacy, by proof: what a law, a policy or a privacy board means",
            Promise.THIS: "the paper's estimate for this very table, which audits can break; for research",
        },
    ),
}
COVARIATES = """'COLUMN ~ AGE + C(SEX, levels=["f", "m"])' --public AGE,SEX"""
FILL_IN = (
    "Put your column's name for COLUMN, and for FAMILY what it is like: negative_binomial or poisson of counts (the "
    "first command says which), bernoulli of two levels, categorical or ordinal of more (with --levels), log_normal, "
    "gamma or normal of amounts (with --range)."
)
PUBLIC = "AGE and SEX stand for your public columns, which are published as they are."
PERSONS = (
    "Each row counts as one person. Where a person has several rows, add --unit COLUMN --max-rows N, with the column "
    "that tells persons apart, and divide --epsilon by N: it is of one row."
)
Answer = TypeVar("Answer", bound=StrEnum)


class Advice(NamedTuple):
    """Commands to run, one after the other, and what to know."""

    commands: tuple[str, ...]
    words: tuple[str, ...]


def advise(who: Who, what: What, promise: Promise, table: str) -> Advice:
    """The commands for these answers; names in capitals are the user's to fill in."""
    name = shlex.quote(table)
    strict = promise is Promise.EVERY
    if what is What.TABLE:
        look = f"alphasynth inspect {name} --suggest columns.toml"
        run = (
            f"alphasynth synthesize {name} --columns columns.toml --confirm-public all --epsilon 4 --delta 1e-9 --m 5 "
            "--out run"
        )
        words = [
            "Look at columns.toml between the two: levels and limits that were read off the table are public only if "
            "you say so. Edit them first; --confirm-public all says that all of it may be told."
        ]
        if not strict:
            words.append("Whole tables are made by a strict mechanism (Raked): better than an estimate, and faster.")
        return Advice((look, run), (*words, PERSONS, *_seen_by(who, strict=True)))
    formula = "'COLUMN ~ 1'" if what is What.COLUMN else COVARIATES
    look = f"alphasynth inspect {name}"
    run = f"alphasynth synthesize {name} --formula {formula} --family FAMILY"
    words = [FILL_IN] if what is What.COLUMN else [FILL_IN, PUBLIC]
    if strict:
        return Advice((look, f"{run} --epsilon 4 --out run"), (*words, PERSONS, *_seen_by(who, strict)))
    paper = (
        "LW_final is the paper's likelihood-weighted mechanism with re-weighting. Its epsilon is an estimate for this "
        "table: the run audits it, and confidential/report.html says what that found."
    )
    run = f"{run} --mechanism LW_final --epsilon 10 --out run"
    return Advice((look, run), (*words, paper, PERSONS, *_seen_by(who, strict)))


def _seen_by(who: Who, strict: bool) -> tuple[str, ...]:
    if who is Who.ANYONE and not strict:
        return (
            "Do not publish a table under an estimate: exact audits find tables for which it is wrong "
            "(docs/guarantee.md). Answer every-table, or keep it inside.",
        )
    if who is Who.ANYONE:
        return (
            "Epsilon is your policy's to set: 1 is a strong promise, 10 a weak one (docs/choosing.md). The ledger adds "
            "up what a data set has spent.",
        )
    if who is Who.PARTNERS:
        return ("A contract does not bind those who break it: choose epsilon as if the table were published.",)
    return ("Inside the house release/ may go round; confidential/ stays with those who hold the original.",)


def choose(
    table: Annotated[str, typer.Argument(help="Your table, for the command; it is not read.")] = "TABLE",
    who: Annotated[Who | None, typer.Option(help=QUESTIONS[Who][0])] = None,
    what: Annotated[What | None, typer.Option(help=QUESTIONS[What][0])] = None,
    promise: Annotated[Promise | None, typer.Option(help=QUESTIONS[Promise][0])] = None,
) -> None:
    """Three questions, and the command for your answers; nothing of the table is read."""
    advice = advise(_answer(Who, who), _answer(What, what), _answer(Promise, promise), table)
    typer.echo("")
    for command in advice.commands:
        typer.echo(f"    {command}")
    for words in advice.words:
        typer.echo("\n" + textwrap.fill(words, 100))


def can_ask() -> bool:
    """Whether somebody sits there."""
    return sys.stdin.isatty()


def _answer(kind: type[Answer], given: Answer | None) -> Answer:
    """What was given as an option, or is asked for."""
    if given is not None:
        return given
    question, answers = QUESTIONS[kind]
    if not can_ask():
        raise InputError(
            f"--{kind.__name__.lower()} must be one of {', '.join(kind)} where nobody can be asked, found none"
        )
    typer.echo(f"\n{question}")
    for number, (answer, words) in enumerate(answers.items(), start=1):
        typer.echo(f"  {number}  {answer}: {words}")
    while True:
        said = typer.prompt("Answer").strip()
        if said in list(kind):
            return kind(said)
        if said.isdigit() and 1 <= int(said) <= len(answers):
            return kind(list(answers)[int(said) - 1])
        typer.echo(f"A number from 1 to {len(answers)}, or one of {', '.join(kind)}.")

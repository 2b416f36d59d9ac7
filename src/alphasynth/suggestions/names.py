"""Columns that are called like identifiers, and those of groups and times among them; names alone decide here."""

from __future__ import annotations

import re

# What persons are called, and what stands before "id" and "no" of them and of others.
PEOPLE = (
    "person|patient|subject|subj|respondent|participant|customer|client|member|employee|student|pupil|individual|"
    "indiv|worker|panell?ist|proband|donor|inmate|household"
)
BEFORE_ID = (
    f"{PEOPLE}|p|h|hh|s|u|n|pers|pat|sub|resp|case|ind|emp|work|stud|cust|user|mem|merge|new|old|fam|family|house|"
    "xwave|mcs|ncds|samp|sample|rec|record|panel|anon|pseudo|part|study|pub|unique|tax|national|school|firm|company|"
    "plant|estab|hosp|hospital|doctor|teacher|account|acct|policy|visit|row|obs"
)
BEFORE_NUMBER = (
    "p|pers|pat|sub|resp|case|ind|emp|stud|cust|mem|nhs|id|ssn|account|acct|policy|insurance|passport|tax|national|"
    "social[ _.-]?security|record|phone|telephone|mobile"
)
NUMBER, BETWEEN = "no|nr|num|number|nummer|code|key", "[ _.-]?"
# Words that no other column is called.
ALONE = (
    "id|uid|uuid|guid|identifier|ident|ssn|pidp?|hidp?|hhid|nrs?id|nomem|nohouse|encr|pseudonym|persnr|persnum|"
    "personnummer|pesel|nino|mrn|e-?mail|passport|telephone"
)
IDENTIFIER = re.compile(
    rf"(?i:(^|[^a-z])({ALONE})([^a-z]|$)|(^|[^a-z])key$|^(nr|pnr|lfdnr|lfd)$"
    rf"|^({PEOPLE})({BETWEEN}({NUMBER}))?{BETWEEN}[0-9]*$|^({BEFORE_ID})idp?{BETWEEN}[0-9]*$"
    rf"|^({BEFORE_NUMBER}){BETWEEN}({NUMBER}){BETWEEN}[0-9]*$|^id(ind|hh|pers|person|no|nr|num|number|p)[0-9]*$)"
    r"|[a-z](Id|ID)$"
)
# No person is called so: panels have as many rows of each.
TIME = re.compile(
    r"(?i:(^|[^a-z])(date|day|week|month|quarter|year|time|period|wave|round)s?([^a-z]|$))|[a-z](Date|Time)$"
)
# One of these has several persons.
GROUP = re.compile(
    r"(?i:(^|[^a-z])(h|hh|fam|family|house|household|nohouse|school|class|classroom|firm|company|plant|estab|"
    r"establishment|hosp|hospital|clinic|ward|doctor|teacher|region|state|county|province|department|dept|store|shop|"
    r"branch|site|area|country|city|town|municipality|district|postcode|postal|plz|zip|cluster|psu|stratum|strata|species|"
    r"product|item|category|type|village|tract|block)(idp?)?([^a-z]|$))"
)


def called_identifier(name: str) -> bool:
    """Whether a column is called like what tells rows or persons apart.

    >>> [called_identifier(name) for name in ("person_id", "nr", "NHS number", "paid", "nr_rooms")]
    [True, True, True, False, False]
    """
    return IDENTIFIER.search(name) is not None


def called_time(name: str) -> bool:
    """Whether a column is called like a time.

    >>> called_time("survey_year"), called_time("yearly")
    (True, False)
    """
    return TIME.search(name) is not None


def called_group(name: str) -> bool:
    """Whether a column is called like what several persons share.

    >>> called_group("school_id"), called_group("schoolId"), called_group("hhid"), called_group("pid")
    (True, True, True, False)
    """
    return GROUP.search(re.sub("([a-z])(Id|ID)$", r"\1_\2", name)) is not None

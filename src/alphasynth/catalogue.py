"""Names that the command line takes, each with one line that says what it is; imports nothing heavy."""

from __future__ import annotations

MECHANISMS = {
    "Unweighted": "the posterior itself, every weight 1; has no weights to aim at --epsilon",
    "LW": "likelihood weights: small where a record's largest absolute log-likelihood is large",
    "CW": "count weights: small where few records lie near the record's value; takes --radius",
    "SW": "one weight for all records; without --epsilon or --alpha, the one that matches LW's bound",
    "LW_final": "LW, then re-weighting: each weight set to what one common bound allows",
    "CW_final": "CW, then re-weighting: each weight set to what one common bound allows",
    "BW": "budget weights: each weight set to what --epsilon allows its own record; takes --cap",
    "Censored": "strict without covariates: what a record adds is centred and cut to a range of epsilon; takes --cut, "
    "--limits, --step",
    "Recentred": "strict without covariates: a first draw as Censored, then draws centred at it; takes --cut, --share, "
    "--reach",
    "BetaDivergence": "strict without covariates: robust to outliers; takes --beta, --bound, --limits, --step",
    "Scored": "strict: regressions from noisy sums of clipped scores, any number of draws; takes --rounds, --clip",
}
FAMILIES = {
    "bernoulli": "two levels",
    "categorical": "several levels without an order (multinomial logit)",
    "ordinal": "three or more levels in order (proportional odds)",
    "normal": "values within declared limits, spread evenly about their mean; takes --range",
    "log_normal": "positive values within declared limits, skewed to the right; takes --range",
    "gamma": "positive values within declared limits, with an sd in proportion to the mean; takes --range",
    "poisson": "counts with variance equal to their mean",
    "negative_binomial": "counts with variance above their mean",
    "zero_truncated_poisson": "poisson counts above 0",
    "zero_truncated_negative_binomial": "negative binomial counts above 0",
    "zero_inflated_poisson": "poisson counts, some of them turned to 0",
    "zero_inflated_negative_binomial": "negative binomial counts, some of them turned to 0",
    "hurdle_poisson": "0, or a poisson count above 0",
    "hurdle_negative_binomial": "0, or a negative binomial count above 0",
    "two_part_normal": "0, or a normal value within declared limits; takes --range",
    "two_part_log_normal": "0, or a log-normal value within declared limits; takes --range",
    "two_part_gamma": "0, or a gamma value within declared limits; takes --range",
}
SAMPLERS = {
    "automatic": "laplace, and nuts where its diagnostics fail",
    "laplace": "independence sampling around the mode; milliseconds",
    "nuts": "the no-U-turn sampler; seconds to minutes",
    "grid": "independent draws on a fine grid; for one or two parameters",
}
PRIORS = {
    "scale_mixture": "normal coefficients, half-t scales integrated out",
    "normal:SCALE": "normal coefficients with this scale",
    "lkj": "the paper's prior whole, with correlated coefficients; best with --sampler nuts",
}
STUDIES = {
    "nb-mixture": "section 3 and Supp 3: the six synthesizers on counts from a negative binomial mixture",
    "salary": "section 4 and Supp 4: the six on salaries, the survey's with --table, else of a simulated stand-in",
    "contraction": "Supp 5: bounds over many databases; runs on a GPU where JAX has one",
}
# Format -> suffix. SAS is read in two formats and written in one, XPORT.
FORMATS = {
    "csv": ".csv",
    "tsv": ".tsv",
    "parquet": ".parquet",
    "arrow": ".arrow",
    "feather": ".feather",
    "xport": ".xpt",
    "spss": ".sav",
    "stata": ".dta",
}


def listing(names: dict[str, str]) -> str:
    r"""Names and their lines, each a paragraph, for a help text.

    >>> listing({"a": "one", "b": "two"})
    'a: one\n\nb: two'
    """
    return "\n\n".join(f"{name}: {line}" for name, line in names.items())

"""Weights and bounds from matrices, beside the paper's script done slowly and beside our own path."""

from __future__ import annotations

import json
from functools import partial

import jax
import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import alphasynth as syn
from alphasynth.errors import InputError
from command_line import run

FINITE = st.floats(-50, 0, allow_subnormal=False)


def by_the_script(log_lik, scale, shift, thresh):
    """Supplement 1, loop by loop: the full sum, the sum without record i, and their difference."""
    draws, n = log_lik.shape
    log_ratio = np.zeros((draws, n))
    for s in range(draws):
        for i in range(n):
            log_ratio[s, i] = abs(log_lik[s].sum() - np.delete(log_lik[s], i).sum())
    by_draw = log_ratio.max(axis=1)
    bound = np.quantile(by_draw, thresh)
    by_record = log_ratio[by_draw <= bound].max(axis=0)
    risks = (by_record - by_record.min()) / (by_record.max() - by_record.min())
    return np.clip(scale * (1 - risks) + shift, 0, 1), by_record


@pytest.fixture(scope="module")
def log_lik():
    """Draws of a Poisson mean, at counts with a tail."""
    from scipy.stats import poisson

    rng = np.random.default_rng(3)
    y = np.concatenate([rng.poisson(20, 57), [0, 45, 45]])
    return poisson.logpmf(y, 20 * np.exp(0.03 * rng.standard_normal((200, 1))))


@pytest.mark.parametrize("thresh", [1.0, 0.9])
@pytest.mark.parametrize(("scale", "shift"), [(1.0, 0.0), (0.85, 0.1), (3.0, -0.5)])
def test_likelihood_weights_are_the_scripts(log_lik, scale, shift, thresh):
    alpha, by_record = by_the_script(log_lik, scale, shift, thresh)
    made = syn.weights_from(log_lik, syn.LW(scale, shift), thresh=thresh)
    np.testing.assert_allclose(made.alpha, alpha, atol=1e-11)  # the loop takes differences of sums of 60 numbers
    np.testing.assert_allclose(made.lipschitz.by_record, by_record, atol=1e-11)
    assert made.num_draws == (np.abs(log_lik).max(axis=1) <= np.quantile(np.abs(log_lik).max(axis=1), thresh)).sum()
    assert made.epsilon_per_draw == 2 * made.lipschitz.overall


def test_thresh_drops_draws_before_the_maxima(log_lik):
    bounds = syn.bounds_from(log_lik, thresh=0.5)
    assert bounds.kept.sum() == bounds.num_draws == 100
    np.testing.assert_array_equal(bounds.largest, np.abs(log_lik[bounds.kept]).max(axis=0))
    assert bounds.lipschitz.overall < syn.bounds_from(log_lik).lipschitz.overall


@pytest.fixture(scope="module")
def fitted(mixture):
    return syn.Synthesizer(
        "y ~ 1", family="negative_binomial", mechanism="LW_final", k=0.95, m=1, num_draws=200, seed=1
    ).fit(mixture)


def check_against(fitted, matrices, same):
    """Weights and bounds of our own fits, made again from matrices of the three."""
    first = syn.weights_from(matrices[0])
    second = syn.weights_from(matrices[1], syn.Reweight(k=0.95), alpha=first)
    last = syn.bounds_from(matrices[2], alpha=second)
    assert first.n == len(fitted.alpha_)
    same(first.alpha, fitted.trail_.fits[1].alpha)
    same(second.alpha, fitted.alpha_)
    same(syn.weights_from(matrices[:2], (syn.LW(), syn.Reweight(k=0.95))).alpha, second.alpha)
    same(last.lipschitz.by_record, fitted.lipschitz_.by_record)
    same(last.epsilon_per_draw, fitted.guarantee_.epsilon_per_draw)


def test_our_own_path_gives_the_same_to_the_last_digit(fitted):
    """From the largest and the smallest f of each record, which our own path had."""
    extremes = [np.stack(fit.columns[0].extremes)[:, fit.records.rows_in_order] for fit in fitted.trail_.fits]
    check_against(fitted, extremes, np.testing.assert_array_equal)


def test_our_own_path_gives_the_same_from_all_of_its_draws(fitted, mixture):
    """Another program at the same draws: compilers leave the last bit of a log-likelihood open, and no more."""
    block = fitted.bind(fitted.read(mixture)).one
    matrices = [matrix_of(block, fit) for fit in fitted.trail_.fits]
    check_against(fitted, matrices, partial(np.testing.assert_allclose, rtol=1e-14))


def matrix_of(block, fit):
    """log p(x_i | theta_s) of every record at every draw of a fit, by a program that is compiled as ours is."""
    model = block.model

    @jax.jit
    def by_row(draws, columns):
        return jax.vmap(lambda u: model.log_lik(model.prior.constrain(u), columns), out_axes=1)(draws)

    with jax.enable_x64(True):
        values = by_row(fit.draws.u, block.rows.columns)
    return np.asarray(values).T[:, block.rows.of][:, fit.records.rows_in_order]


@given(arrays(np.float64, (5, 4), elements=FINITE), arrays(np.float64, 4, elements=st.floats(0, 1)))
def test_bounds_are_the_largest_of_the_product(values, alpha):
    assume(not (alpha == 0).any() or values[:, alpha == 0].any())  # else they look multiplied already
    bounds = syn.bounds_from(values, alpha=alpha, records_in="columns")
    np.testing.assert_array_equal(bounds.lipschitz.by_record, alpha * np.abs(values).max(axis=0))
    assert bounds.lipschitz.overall == (alpha * np.abs(values)).max()


def test_a_matrix_that_is_weighted_already_tells_the_same(log_lik):
    alpha = np.linspace(0.0, 1.0, 60) ** 2
    plain = syn.weights_from(log_lik, syn.Reweight(k=0.9), alpha=alpha)
    product = syn.weights_from(log_lik * alpha, syn.Reweight(k=0.9), alpha=alpha, weighted=True)
    np.testing.assert_allclose(product.lipschitz.by_record, plain.lipschitz.by_record, rtol=1e-14)
    np.testing.assert_allclose(product.alpha[1:], plain.alpha[1:], rtol=1e-14)
    # Of a weight of 0 the product tells nothing: F is unknown there, and the weight stays.
    assert product.alpha[0] == 0 < plain.alpha[0]
    assert product.largest[0] == np.inf


def test_zero_weights_can_stay(log_lik):
    first = syn.weights_from(log_lik)
    other = log_lik * 1.01 - 0.02 * np.arange(60) % 0.3
    lifted = syn.weights_from(other, syn.Reweight(k=0.95), alpha=first)
    kept = syn.weights_from(other, syn.Reweight(k=0.95, keep_zeros=True), alpha=first)
    zero = first.alpha == 0
    assert zero.any()
    assert (lifted.alpha[zero] > 0).all()
    assert (kept.alpha[zero] == 0).all()
    np.testing.assert_array_equal(kept.alpha[~zero], lifted.alpha[~zero])


def test_count_weights_come_from_the_table(log_lik):
    y = np.random.default_rng(0).poisson(20, 60)
    inside = (np.abs(y[:, None] - y) <= 0.2 * y[:, None]).mean(axis=1)
    rule = syn.CW(radius=0.2, relative=True, scale=1.5, shift=0.05)
    for matrix in (log_lik, None):
        made = syn.weights_from(matrix, rule, records=y)
        np.testing.assert_allclose(made.alpha, np.clip(1.5 * inside + 0.05, 0, 1), rtol=1e-13)
    with pytest.raises(InputError, match="bounds must come from log-likelihoods"):
        _ = made.epsilon_per_draw


def test_a_record_that_cannot_be_takes_no_part(log_lik):
    """The paper: weight 0 where the log-likelihood is not finite."""
    log_lik = log_lik.copy()
    log_lik[7, 3] = -np.inf
    made = syn.weights_from(log_lik, syn.LW(shift=0.1))
    assert made.alpha[3] == 0
    assert (np.delete(made.alpha, 3) > 0).all()
    other = log_lik - 0.01 * np.random.default_rng(3).random(log_lik.shape)
    assert np.isfinite(syn.bounds_from(other, alpha=made).lipschitz.overall)


def test_a_record_that_cannot_be_drops_no_draws(log_lik):
    """Above a quantile, draws are dropped by the records that take part."""
    plain = syn.bounds_from(log_lik, thresh=0.9)
    log_lik = log_lik.copy()
    log_lik[:, -1] = -np.inf
    least = np.abs(log_lik[:, :-1]).max(axis=1)
    made = syn.bounds_from(log_lik, thresh=0.9)
    np.testing.assert_array_equal(made.kept, least <= np.quantile(least, 0.9))
    assert made.num_draws == plain.num_draws


BAD = {
    "NaN": (lambda m: np.where(m == m[2, 2], np.nan, m), {}, "not a number"),
    "+inf": (lambda m: np.where(m == m[2, 2], np.inf, m), {}, r"\+inf"),
    "positive": (lambda m: m + 100, {}, "at most 0, found entries above 0"),
    "transposed": (lambda m: m.T, {}, "transposed"),
    "one axis": (lambda m: m[0], {}, "found 1 axes"),
    "text": (lambda m: m.astype(str), {}, "matrix of numbers"),
    "ragged": (lambda m: [[-1.0, -2.0], [-1.0]], {}, "rows of equal length"),
    "one record": (lambda m: m[:, :1], {}, "two records"),
    "alpha of another length": (lambda m: m, {"alpha": np.ones(59)}, "alpha must have one entry per column.*60.*59"),
    "alpha above 1": (lambda m: m, {"alpha": np.full(60, 1.5)}, r"in \[0, 1\]"),
    "thresh": (lambda m: m, {"thresh": 0.0}, "thresh must be above 0"),
    "records_in": (lambda m: m, {"records_in": "draws"}, "records_in must be 'columns' or 'rows'"),
    "no file": (lambda m: "nowhere.parquet", {}, "must be a file, found none"),
    "other suffix": (lambda m: __file__, {}, "must end in one of"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_matrices_get_one_sentence(log_lik, case):
    change, options, sentence = BAD[case]
    with pytest.raises(InputError, match=sentence):
        syn.bounds_from(change(log_lik), **options)


BAD_RULES = {
    "a class": (syn.LW, {}, "rules must be rules such as"),
    "BW": (syn.BW(), {}, "BW clips"),
    "a search of k": (syn.Reweight(), {}, "Reweight must have its k"),
    "a search of alpha": (syn.SW(), {}, "SW must have its alpha"),
    "CW without a table": (syn.CW(radius=1), {}, "CW must have the table's records"),
    "CW of another table": (syn.CW(radius=1), {"records": np.arange(3)}, "one row per column of log_lik, 60, found 3"),
    "one matrix for two rules": ((syn.LW(), syn.Reweight(k=1)), {}, "one matrix for each of 2 rules"),
}


@pytest.mark.parametrize("case", BAD_RULES)
def test_rules_that_cannot_be_get_one_sentence(log_lik, case):
    rules, options, sentence = BAD_RULES[case]
    with pytest.raises(InputError, match=sentence):
        syn.weights_from(log_lik, rules, **options)


def test_weights_made_from_this_matrix_are_not_those_of_its_fit(log_lik):
    first = syn.weights_from(log_lik, syn.LW(0.8, 0.1))
    again = log_lik - 0.01 * np.random.default_rng(3).random(log_lik.shape)
    final = syn.weights_from(again, syn.Reweight(k=0.5), alpha=first)
    for matrix, made in ((log_lik, first), (again, final)):
        with pytest.raises(InputError, match="found the matrix that the weights were made from"):
            syn.weights_from(matrix, syn.Reweight(k=0.95), alpha=made)
        with pytest.raises(InputError, match="found the matrix that the weights were made from"):
            syn.bounds_from(matrix, alpha=made)


def test_commands_say_what_cannot_be_told(log_lik, alone, capsys):
    """-inf: weights of 0 and no bound; entries that are weighted by nobody knows what."""
    log_lik = log_lik.copy()
    log_lik[:, 3] = -np.inf
    np.save("f.npy", log_lik)
    assert run("bound", "f.npy") == 2
    assert "found -inf: no epsilon can be told" in capsys.readouterr().err
    assert run("weights", "f.npy", "--out", "w.csv", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["delta"] is None
    assert told["epsilon_per_draw"] is None
    assert pd.read_csv("w.csv")["alpha"][3] == 0
    assert run("weights", "f.npy", "--out", "v.csv", "--thresh", "0.99") == 0
    assert (pd.read_csv("v.csv")["alpha"] > 0).sum() > 50
    assert run("bound", "f.npy", "--weighted") == 2
    assert "--weighted must have --weights" in capsys.readouterr().err


def test_masks_and_data_sets(log_lik):
    import xarray as xr

    with pytest.raises(InputError, match="found entries that are masked"):
        syn.bounds_from(np.ma.masked_less(log_lik, -3))
    data = xr.Dataset({"y": (("chain", "draw", "record"), log_lik[None])})
    np.testing.assert_array_equal(syn.bounds_from(data).largest, np.abs(log_lik).max(axis=0))


def test_scalar_weights_by_the_formula_need_no_other_fit(log_lik):
    """alpha = Delta_alpha / Delta, at most 1."""
    delta = np.abs(log_lik).max()
    made = syn.weights_from(log_lik, syn.SW(match=2.0, by="formula"))
    np.testing.assert_allclose(made.alpha, 2.0 / delta, rtol=1e-12)
    assert syn.weights_from(log_lik, syn.SW(match=2 * delta, by="formula")).alpha.tolist() == [1.0] * log_lik.shape[1]


@pytest.mark.parametrize("option", ["weighted", "densities"])
def test_words_are_not_taken_for_yes(log_lik, option):
    with pytest.raises(InputError, match=f"{option} must be True or False, found 'no'"):
        syn.bounds_from(log_lik, **{option: "no"})


def test_densities_may_exceed_one(log_lik):
    assert syn.bounds_from(log_lik + 5, densities=True).lipschitz.overall == np.abs(log_lik + 5).max()

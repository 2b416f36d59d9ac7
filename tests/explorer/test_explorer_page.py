"""The explorer in a real browser: its numbers are Python's, hands and keys move them, and it says where they fail."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from alphasynth.evaluation.digits import told
from alphasynth.explorer.dial import start_of
from alphasynth.explorer.ladder import Ladder
from alphasynth.explorer.outcome import outcome_at
from alphasynth.explorer.page import render
from alphasynth.explorer.pool import Pool, Terms, log_liks
from alphasynth.explorer.simulated import simulate
from alphasynth.inference.diagnostics import khat
from alphasynth.mechanisms.fit import fit
from alphasynth.privacy.accounting import round_up
from alphasynth.synthesis.outcome import carry_out
from alphasynth.synthesizer import Synthesizer
from browser import Opened, chromium
from explorer.explored_runs import ASKED, BASE, make

pytestmark = pytest.mark.slow

EVIL = "pay</script><img src=x onerror='window.hit=1'>"


@pytest.fixture(scope="module")
def browser():
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def pages(mixture, tmp_path_factory):
    """Pages by mechanism, each with what it was made from."""
    folder, kept = tmp_path_factory.mktemp("pages"), {}

    def page(mechanism):
        if mechanism not in kept:
            made = make(mechanism, mixture)
            path = folder / f"{mechanism}.html"
            path.write_text(render(made.contents), encoding="utf-8")
            kept[mechanism] = path, made
        return kept[mechanism]

    return page


STEP = """setting => { const found = explorer.step(setting); return { ...found, rounds: 0, stand: 0,
  weights: [...found.weights], bounds: [...found.bounds], shares: [...found.shares] }; }"""


@pytest.mark.parametrize("mechanism", ASKED)
def test_the_page_computes_what_python_does(browser, pages, mechanism):
    path, made = pages(mechanism)
    tab = Opened(browser, path).tab
    for setting in [start_of(made.explored.dials), *ASKED[mechanism][1]]:
        there = tab.evaluate(STEP, setting)
        here = outcome_at(setting, made.explored, made.ladder.pool, made.simulated)
        # Sums of 1,000 float32 products in another order: a relative error of 1e-7 in ratios that go up to e^10.
        close = {"rtol": 1e-5, "atol": 1e-7}
        np.testing.assert_allclose(there["weights"], here.bounds.weights, **close)
        np.testing.assert_allclose(there["bounds"], here.bounds.by_row, **close)
        np.testing.assert_allclose(there["shares"], here.shares, **close)
        np.testing.assert_allclose(there["delta"], here.bounds.overall, **close)
        np.testing.assert_allclose(there["epsilon"], here.bounds.epsilon, **close)
        np.testing.assert_allclose(there["khat"], here.khat, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(there["effective"], here.effective, **close)
        np.testing.assert_allclose(there["kept"], here.kept, **close)
        np.testing.assert_allclose(there["meanWeight"], here.mean_weight, **close)
        expected = [(each.mean, each.sd, each.error) for each in here.measures]
        np.testing.assert_allclose(there["measures"], expected, **close)


@pytest.mark.parametrize("shape", [0.2, 0.7, 1.2])
def test_khat_in_the_browser_is_pythons(browser, pages, shape):
    tab = Opened(browser, pages("LW")[0]).tab
    ratios = np.log(np.random.default_rng(4).pareto(1 / shape, 700) + 1)
    assert tab.evaluate("ratios => explorer.khat(ratios)", ratios.tolist()) == pytest.approx(khat(ratios), abs=1e-9)
    assert tab.evaluate("explorer.khat(new Array(100).fill(0))") == -np.inf


@pytest.mark.parametrize("value", [11.10001, 0.5, 219.99991, 1234.5, 0.012345, 3.0])
def test_no_privacy_number_is_rounded_down(browser, pages, value):
    tab = Opened(browser, pages("LW")[0]).tab
    assert tab.evaluate("value => explorer.roundUp(value)", value) == round_up(value)


def number(tab, name):
    return float(tab.locator(f".sums [data-number='{name}']").inner_text().replace(",", ""))


def settle(tab):
    """Two frames: the step was made and drawn."""
    tab.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def drag(tab, name, share):
    """The thumb of a slider to a share of its way, with the mouse, in several moves."""
    box = tab.locator(f"#dial-{name}").bounding_box()
    now = tab.evaluate(f"document.getElementById('dial-{name}').value / document.getElementById('dial-{name}').max")
    inside, y = box["width"] - 16, box["y"] + box["height"] / 2  # a thumb is 16 pixels wide
    tab.mouse.move(box["x"] + 8 + now * inside, y)
    tab.mouse.down()
    tab.mouse.move(box["x"] + 8 + share * inside, y, steps=8)
    settle(tab)
    tab.mouse.up()
    settle(tab)


def test_a_hand_moves_the_claim_and_all_that_hangs_on_it(browser, pages):
    path, made = pages("LW")
    opened = Opened(browser, path, 1_280)
    tab = opened.tab
    parts = [*(f"#figure-{name} svg" for name in ("bounds", "values", "weights", "tables")), "#utility", "#bins"]
    before = {part: tab.locator(part).inner_html() for part in parts}
    first = number(tab, "epsilon")
    drag(tab, "scale", 0.2)
    setting = tab.evaluate("explorer.setting")
    assert setting["scale"] < 0.6
    here = outcome_at(setting, made.explored, made.ladder.pool, made.simulated)
    assert number(tab, "epsilon") == float(round_up(here.bounds.epsilon)) < first
    assert tab.locator("[data-option=scale]").inner_text() == f"{setting['scale']:g}"
    assert tab.locator(".moved b [data-number=epsilon]").inner_text() == round_up(here.bounds.epsilon)
    for part in parts:
        assert tab.locator(part).inner_html() != before[part], part
    mean = tab.locator("#utility tbody tr").first.locator("td").nth(2).inner_text()
    assert float(mean) == pytest.approx(here.measures[0].mean, rel=1e-3)
    assert opened.said == []
    assert tab.locator("#own").is_hidden()
    tab.click("#again")
    settle(tab)
    assert number(tab, "epsilon") == first
    assert tab.locator("#own dd").inner_text() == round_up(made.contents.epsilon)
    assert tab.locator("#own").is_visible()


def test_keys_move_one_value_at_a_time_and_words_follow(browser, pages):
    path, made = pages("LW_final")
    tab = Opened(browser, path, 1_280).tab
    (dial,) = [dial for dial in made.explored.dials if dial.name == "k"]
    place = dial.values.index(dial.start)
    tab.focus("#dial-k")
    tab.keyboard.press("ArrowLeft")
    settle(tab)
    assert tab.evaluate("explorer.setting.k") == dial.values[place - 1]
    assert tab.get_attribute("#dial-k", "aria-valuetext") == f"{dial.values[place - 1]:g}"
    tab.keyboard.press("Home")
    settle(tab)
    assert tab.evaluate("explorer.setting.k") == dial.values[0]
    assert tab.locator("#spoken").inner_text() == ""  # nothing is said while the hand moves
    tab.wait_for_timeout(600)
    said = tab.locator("#spoken").inner_text()
    assert "k 0.5: epsilon" in said
    assert "mean weight" in said
    assert tab.evaluate("getComputedStyle(document.querySelector('#dial-k')).outlineStyle") == "solid"


@pytest.mark.parametrize("mechanism", ["LW", "SW", "CW_final"])
def test_epsilon_turns_the_last_rules_number_as_far_as_it_allows(browser, pages, mechanism):
    path, made = pages(mechanism)
    tab = Opened(browser, path, 1_280).tab
    tab.focus("#dial-epsilon")
    for _ in range(12):
        tab.keyboard.press("ArrowLeft")
    settle(tab)
    place = int(tab.input_value("#dial-epsilon"))
    asked = made.contents.epsilon_dial.values[place]
    driven = made.explored.driven
    (dial,) = [dial for dial in made.explored.dials if dial.name == driven]
    setting = tab.evaluate("explorer.setting")
    turned = dial.values.index(setting[driven])
    below, above = (
        outcome_at({**setting, driven: value}, made.explored, made.ladder.pool, made.simulated).bounds.epsilon
        for value in dial.values[turned : turned + 2]
    )
    assert below <= asked < above
    assert tab.locator("#value-epsilon").inner_text() == f"{round_up(below)} (at most {asked:g} asked)"
    assert tab.input_value(f"#dial-{driven}") == str(turned)


REAL_RUNS = 4


def test_three_settings_are_a_real_runs(browser, pages, mixture):
    """By a drag, by keys, and by epsilon; each against runs of the front at the numbers that the page prints."""
    tab = Opened(browser, pages("LW_final")[0], 1_280).tab

    def by_keys():
        tab.focus("#dial-k")
        for _ in range(25):
            tab.keyboard.press("ArrowLeft")
        settle(tab)

    def by_epsilon():
        tab.focus("#dial-epsilon")
        for _ in range(6):
            tab.keyboard.press("ArrowRight")
        settle(tab)

    seen = set()
    for move in (lambda: drag(tab, "scale", 0.25), by_keys, by_epsilon):
        move()
        shown = {name: float(tab.locator(f"[data-option={name}]").inner_text()) for name in ("scale", "shift", "k")}
        seen.add(tuple(shown.values()))
        assert tab.locator("#fails").is_hidden()
        worth = number(tab, "effective")
        deltas, means = [], []
        for seed in range(REAL_RUNS):
            asked = {**BASE, "mechanism": "LW_final", "m": 100, "seed": seed}
            synthesizer = Synthesizer("y ~ 1", **asked, **shown).fit(mixture)
            deltas.append(synthesizer.trail_.delta)
            means += [table["y"].mean() for table in synthesizer.sample()]
        cells = tab.locator("#utility tbody tr").first.locator("td").all_inner_texts()
        # Monte Carlo errors: of 400 tables' mean, and what the page says of its own.
        error = np.hypot(np.std(means) / np.sqrt(len(means)), float(cells[5]))
        assert abs(float(cells[2]) - np.mean(means)) < 4 * error
        # A run's Delta scatters from run to run; so does what the page starts from, and its draws are worth fewer
        # than a run's 1,000, or more. The sd of four runs is known to a factor of 2.
        scatter = 2 * np.std(deltas, ddof=1) * np.sqrt(1 / REAL_RUNS + 1 + 1_000 / worth)
        assert abs(number(tab, "delta") - np.mean(deltas)) < 4 * scatter
        assert number(tab, "epsilon") == pytest.approx(4 * number(tab, "delta"), rel=1e-3)
    assert len(seen) == 3


@pytest.fixture(scope="module")
def single(mixture, tmp_path_factory):
    """A page whose draws are all of one fit."""
    made = make("Unweighted", mixture)
    return lambda alpha: of_one_fit(made, alpha, tmp_path_factory.mktemp("single") / "page.html")


def of_one_fit(made, alpha, path):
    block, alphas = made.explored.bound.chain.one, np.full(made.records.size, alpha)
    u = fit(np.random.SeedSequence(1), block, alphas).draws.u[:1_000]
    pool = Pool.of([log_liks(block.model, u, block.rows)], made.records.counts, [Terms(alphas)])
    contents = replace(
        made.contents,
        ladder=Ladder(pool, u, 1),
        simulated=simulate(np.random.SeedSequence(2), made.explored, u),
    )
    path.write_text(render(contents), encoding="utf-8")
    return path


@pytest.mark.parametrize(("alpha", "away", "back"), [(1.0, "Home", "End"), (0.02, "End", "Home")])
def test_what_the_draws_do_not_stand_for_turns_grey(browser, single, alpha, away, back):
    """Far from a narrow fit no draw is; of a wide one's, few are where a narrow one is."""
    tab = Opened(browser, single(alpha), 1_280).tab
    tab.focus("#dial-alpha")
    tab.keyboard.press(back)
    settle(tab)
    assert tab.locator("#fails").is_hidden()
    tab.keyboard.press(away)
    settle(tab)
    assert (number(tab, "effective") < 50) == (alpha < 1)
    assert tab.locator("#fails").is_visible()
    assert tab.get_attribute("#fails", "role") == "alert"
    assert float(tab.evaluate("getComputedStyle(document.querySelector('.moved')).opacity")) < 0.5
    tab.wait_for_timeout(600)
    assert "do not use these numbers" in tab.locator("#spoken").inner_text()
    tab.keyboard.press(back)
    settle(tab)
    assert tab.locator("#fails").is_hidden()
    assert tab.evaluate("getComputedStyle(document.querySelector('.moved')).opacity") == "1"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1_280])
@pytest.mark.parametrize("mechanism", ["CW_final", "BW", "Censored"])
def test_the_page_fits_every_width_and_asks_for_nothing(browser, pages, mechanism, width, scheme):
    opened = Opened(browser, pages(mechanism)[0], width, scheme)
    tab = opened.tab
    assert opened.said == []
    assert opened.asked == [opened.address]
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    for slider in tab.locator(".dial input").all():
        name = slider.get_attribute("id")
        assert tab.locator(f"label[for={name}]").inner_text()
        assert slider.is_enabled()
        assert slider.bounding_box()["height"] >= 24
    for figure in tab.locator("figure svg").all():
        assert figure.get_attribute("role") == "img"
        assert len(figure.get_attribute("aria-label")) > 30
        assert figure.bounding_box()["width"] > 250
    words = tab.inner_text("header")
    assert "CONFIDENTIAL" in words
    assert "spends privacy" in words
    assert "--twin" in words


def test_a_thumb_moves_it_on_a_phone(browser, pages):
    context = browser.new_context(viewport={"width": 390, "height": 800}, has_touch=True, is_mobile=True)
    tab = context.new_page()
    tab.goto(pages("LW")[0].absolute().as_uri())
    slider = tab.locator("#dial-scale")
    slider.scroll_into_view_if_needed()
    box, before = slider.bounding_box(), number(tab, "epsilon")
    tab.touchscreen.tap(box["x"] + 0.2 * box["width"], box["y"] + box["height"] / 2)
    settle(tab)
    assert number(tab, "epsilon") < before
    assert tab.locator(".sums").is_visible()


def test_without_scripts_the_runs_own_setting_stands_there(browser, pages):
    path, made = pages("LW")
    tab = Opened(browser, path, scripts=False).tab
    here = outcome_at(start_of(made.explored.dials), made.explored, made.ladder.pool, made.simulated)
    assert "Scripts are needed" in tab.inner_text("header")
    assert tab.locator(".sums [data-number=epsilon]").inner_text() == round_up(here.bounds.epsilon)
    assert tab.locator("#dial-scale").is_disabled()
    assert tab.locator("#utility tbody tr").count() == len(made.simulated.names)
    assert "%" in tab.locator("#bins tbody tr").nth(5).locator("td").nth(2).text_content()


def test_what_stands_there_before_scripts_run_is_what_they_write(browser, pages):
    path, _ = pages("CW_final")
    told = [Opened(browser, path, scripts=scripts).tab.locator("#utility").inner_text() for scripts in (True, False)]
    assert told[0] == told[1]


def test_numbers_have_the_digits_of_their_errors(browser, pages):
    path, made = pages("LW")
    tab = Opened(browser, path).tab
    here = outcome_at(start_of(made.explored.dials), made.explored, made.ladder.pool, made.simulated)
    for line, own, found in zip(tab.locator("#utility tbody tr").all(), made.simulated.own, here.measures, strict=True):
        mean, sd, error = found.mean, found.sd, found.error
        wanted = [told(own, sd), told(mean, error), told(mean - own, error), told(sd, sd), told(error, error)]
        assert line.locator("td").all_inner_texts()[1:] == wanted


def test_names_and_levels_do_nothing(browser, tmp_path):
    rng = np.random.default_rng(3)
    age, pay = rng.integers(20, 70, 200), rng.poisson(8, 200)
    made = make("SW", pd.DataFrame({EVIL: pay, "age": age}), f"`{EVIL}` ~ age", public=["age"])
    (tmp_path / "page.html").write_text(render(made.contents), encoding="utf-8")
    opened = Opened(browser, tmp_path / "page.html")
    assert opened.said == []
    assert opened.tab.evaluate("window.hit === undefined")
    assert opened.tab.inner_text("h1") == f"Explorer: {EVIL}, SW"


def test_categories_are_explored_too(browser, tmp_path):
    rng = np.random.default_rng(5)
    table = pd.DataFrame({"sex": rng.choice(["f", "<b>m</b>"], 300, p=[0.7, 0.3])})
    made = make("CW", table, "sex ~ 1", family="bernoulli", radius=1.0, relative=False)
    (tmp_path / "page.html").write_text(render(made.contents), encoding="utf-8")
    opened = Opened(browser, tmp_path / "page.html", 390)
    tab = opened.tab
    assert opened.said == []
    assert tab.locator("#figure-values").count() == 0
    assert "share of <b>m</b>" in tab.inner_text("#utility")
    setting = start_of(made.explored.dials)
    here = outcome_at(setting, made.explored, made.ladder.pool, made.simulated)
    np.testing.assert_allclose(tab.evaluate(STEP, setting)["weights"], here.bounds.weights, rtol=1e-9)


def test_a_run_is_carried_out_as_the_page_was(pages, mixture):
    """The weights of rules that read the unweighted fit alone are the run's own, to the last digit."""
    _, made = pages("LW")
    trail = carry_out(np.random.SeedSequence(7), made.synthesizer, made.synthesizer.model, made.records).trail
    ours = made.explored.rounds(start_of(made.explored.dials), None)[0].alpha
    np.testing.assert_array_equal(ours, trail.fits[-1].alpha_distinct)

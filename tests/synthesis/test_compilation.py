"""Nothing is compiled twice, nothing confidential is compiled in, and nobody's JAX settings are changed."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections import Counter

import jax
import numpy as np
import pandas as pd
import pytest

import alphasynth as syn

EVENTS = ("/jax/core/compile/jaxpr_trace_duration", "/jax/core/compile/backend_compile_duration")


@pytest.fixture
def count_compilations():
    """Traces and compilations by JAX since the last call."""
    seen: Counter[str] = Counter()

    def listen(event: str, duration: float, **_) -> None:
        seen.update([event] if event in EVENTS else [])

    jax.monitoring.register_event_duration_secs_listener(listen)

    def count() -> int:
        total = seen.total()
        seen.clear()
        return total

    yield count
    jax.monitoring.unregister_event_duration_listener(listen)


def simulate(seed, n=1000):
    rng = np.random.default_rng(seed)
    phi = np.where(rng.random(n) < 0.2, 5, 20)
    return pd.DataFrame({"y": rng.poisson(rng.gamma(phi, 100 / phi)), "x": rng.integers(0, 40, n)})


@pytest.mark.slow
@pytest.mark.parametrize(("formula", "prior"), [("y ~ 1", syn.NormalPrior(3.3)), ("y ~ x", syn.NormalPrior(3.4))])
def test_a_second_table_compiles_nothing(count_compilations, formula, prior):
    """The prior's scale makes the model a new one, so that the first run has something to compile."""
    settings = {"family": "negative_binomial", "m": 2, "public": ("x",), "prior": prior}
    syn.Synthesizer(formula, mechanism="Unweighted", seed=0, **settings).fit(simulate(0)).sample()
    assert 0 < count_compilations() <= 8 * len(EVENTS)
    for seed, (mechanism, more) in enumerate(
        [
            ("LW_final", {}),
            ("CW_final", {"radius": 0.3, "relative": True}),
            ("SW", {"epsilon": 20}),
            ("LW", {"epsilon": 9}),
        ]
    ):
        table = simulate(seed + 1, n=1000 + 11 * seed)
        s = syn.Synthesizer(formula, mechanism=mechanism, seed=seed, **settings, **more).fit(table)
        assert len(s.sample()) == len(s.release().tables) == 2
        assert s.alpha_.shape == s.lipschitz_.by_record.shape == (len(table),)
    alpha = np.random.default_rng(1).uniform(0, 1, 1000)
    mine = syn.Mechanism("mine", rules=(syn.Given(alpha), syn.Reweight()))
    syn.Synthesizer(formula, mechanism=mine, **settings).fit(simulate(9)).sample()
    assert count_compilations() == 0


def test_thresh_compiles_once(count_compilations):
    settings = {"family": "poisson", "m": 1, "prior": syn.NormalPrior(3.5), "thresh": 0.95, "mechanism": "LW_final"}
    syn.Synthesizer("y ~ 1", seed=0, **settings).fit(simulate(0))
    count_compilations()
    for seed in range(1, 4):  # repeated draws tie, so that each run keeps another number
        syn.Synthesizer("y ~ 1", seed=seed, **settings).fit(simulate(seed))
    assert count_compilations() == 0


def run(script, *args):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), *map(str, args)], check=True, capture_output=True, text=True
    ).stdout


def test_importing_is_light_and_changes_nothing():
    out = run(
        """
        import sys
        import alphasynth
        print(sorted(set(sys.modules) & {"jax", "numpyro", "pandas", "pyarrow", "duckdb", "scipy", "formulaic"}))
        """
    )
    assert out.strip() == "[]"


@pytest.mark.slow
def test_a_fit_needs_no_numpyro_and_leaves_jax_in_32_bit():
    out = run(
        """
        import sys
        import pandas as pd
        import alphasynth as syn
        s = syn.Synthesizer("y ~ 1", family="poisson", mechanism="LW_final", m=1, seed=1)
        s.fit(pd.DataFrame({"y": [3, 4, 5, 6, 7] * 20})).sample()
        import jax, jax.numpy as jnp
        print("numpyro" in sys.modules, jnp.ones(1).dtype, jax.config.jax_enable_x64)
        """
    )
    assert out.split() == ["False", "float32", "False"]


@pytest.mark.slow
def test_the_compilation_cache_is_used_and_holds_no_data(tmp_path):
    """Counts and weights, planted as odd numbers, are looked for in every file as 64-bit and 32-bit floats and text."""
    script = """
        import sys, json
        import numpy as np, pandas as pd, jax
        import alphasynth as syn
        compiled = []
        jax.monitoring.register_event_listener(lambda event, **_: compiled.append(event))
        syn.use_compilation_cache(sys.argv[1])
        alpha = np.full(400, 0.8371926455)
        table = pd.DataFrame({"y": [73_914_257, 6_219_383, 5, 8] * 100})
        mine = syn.Mechanism("mine", rules=(syn.Given(alpha), syn.Reweight(k=0.9)))
        s = syn.Synthesizer("y ~ 1", family="negative_binomial", mechanism=mine, m=1, seed=1).fit(table)
        secrets = [73914257.0, 6219383.0, 0.8371926455, 83.71926455, *s.alpha_, *s.lipschitz_.by_record]
        hits = sum(event.endswith("cache_hits") for event in compiled)
        print(json.dumps({"hits": hits, "secrets": sorted(set(secrets))}))
    """
    import json

    folder = tmp_path / "cache"
    first, second = (json.loads(run(script, folder)) for _ in range(2))
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert first["hits"] == 0
    assert second["hits"] > 0
    assert files
    assert folder.stat().st_mode & 0o777 == 0o700
    stored = b"".join(path.read_bytes() for path in files)
    for secret in first["secrets"]:
        if secret in (0.0, 1.0, 5.0, 8.0):
            continue  # in every program
        for pattern in (np.float64(secret).tobytes(), np.float32(secret).tobytes(), repr(secret).encode()):
            assert pattern not in stored

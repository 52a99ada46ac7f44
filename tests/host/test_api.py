"""Version ranges agree with the packaging library, hooks are documented, the catalogue is sound."""

from __future__ import annotations

import inspect

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from pypto_core.host import (
    PLUGIN_API,
    api_matches,
    catalogued,
    distribution_for,
    hookspecs,
    known_distributions,
)

versions = st.lists(st.integers(0, 3), min_size=1, max_size=3).map(tuple)
clauses = st.builds(
    lambda sign, parts: f"{sign}{'.'.join(map(str, parts))}",
    st.sampled_from([">=", "<=", "==", "!=", "<", ">"]),
    versions,
) | st.builds(
    lambda parts: f"~={'.'.join(map(str, parts))}",
    st.lists(st.integers(0, 3), min_size=2, max_size=3),
)


@given(spec=st.lists(clauses, max_size=3).map(",".join), version=versions)
def test_ranges_mean_what_packaging_says(spec: str, version: tuple[int, ...]) -> None:
    assert api_matches(spec, version) == SpecifierSet(spec).contains(Version(".".join(map(str, version))))


@pytest.mark.parametrize("spec", ["1", ">=", ">=1.x", "=>1", ">=1;<2", "~=1", ">=1,,<2", "latest"])
def test_a_text_that_is_no_range_is_refused(spec: str) -> None:
    with pytest.raises(ValueError, match="version clause|needs two parts"):
        api_matches(spec, (1, 0))


def test_the_default_range_takes_this_api() -> None:
    assert api_matches(">=1,<2", PLUGIN_API)
    assert not api_matches(">=1,<2", (2, 0))


def test_every_hook_says_when_it_is_called_and_what_it_returns() -> None:
    hooks = {name: f for name, f in vars(hookspecs).items() if name.startswith("pypto_")}
    named = ["plugin", "properties", "ops", "passes", "backends", "planners", "targets", "emitters"]
    named += ["executors", "engines", "commands", "report_sections", "codes"]
    assert sorted(hooks) == sorted(f"pypto_{name}" for name in named)
    for name, hook in hooks.items():
        assert "Return:" in (hook.__doc__ or ""), name
        assert not inspect.signature(hook).parameters, name


def test_the_catalogue_names_each_thing_once() -> None:
    for kind in ("pass", "property", "planner", "target"):
        names = catalogued(kind)
        assert all(distribution_for(kind, name) == owner for name, owner in names.items())
        assert set(names.values()) <= set(known_distributions())
    assert distribution_for("pass", "AutoTileMatmulL0") == "pypto-plugin-autotile"
    assert distribution_for("backend", "ASCEND910B") == "pypto-plugin-backend-910b"
    assert distribution_for("pass", "NoSuchPass") is None

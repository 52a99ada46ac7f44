"""The catalogue, and asking whether properties hold."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from pypto_core.contract import Property, PropertyKind
from pypto_core.diagnostics import Diagnostic, Severity, Span, UserError, VerificationError
from pypto_core.ir import AssignStmt, BreakStmt, Program, const_index
from pypto_core.testing import build as b
from pypto_core.verify import (
    CORE_PROPERTIES,
    DEFAULT_CHECKS,
    EFFECTS,
    PROPERTIES_BY_NAME,
    PROPERTY_ORDER,
    STRUCTURAL,
    VERIFIED,
    PropertyError,
    holds,
    property_code,
    property_number,
    report,
    verify_or_raise,
    verify_properties,
)

GOOD = b.program(b.function("f", [], [b.let("x", const_index(1))]))


def broken() -> Program:
    x = b.scalar("x")
    span = Span("k.py", 7, 3)
    stmts = [AssignStmt(x, const_index(1)), AssignStmt(x, const_index(2), span=span), BreakStmt(span=span)]
    return b.program(b.function("f", [], stmts))


def test_every_property_of_the_catalogue_has_a_verifier() -> None:
    for entry in CORE_PROPERTIES:
        assert callable(entry.load()), entry.name
        assert entry.summary and not entry.summary.endswith("."), entry.name
        assert entry.disturbed_by <= set(EFFECTS)
        assert verify_properties(GOOD, [entry.name]) == [], entry.name
        assert holds(GOOD, entry.name)


def test_the_catalogue_is_in_the_order_of_the_bits() -> None:
    bits = [property_number(entry.name) for entry in CORE_PROPERTIES]
    assert None not in bits
    assert bits == sorted(bits, key=lambda bit: bit or 0)
    # Bits of the public API.
    known = {
        "SSAForm": 0,
        "TileOps2D": 11,
        "PipelineResolved": 22,
        "UnrollResolved": 35,
        "AccCompactValid": 41,
    }
    assert {name: property_number(name) for name in known} == known
    assert property_number("acme.Mine") is None
    codes = [property_code(name) for name in PROPERTY_ORDER]
    assert codes[0] == "PT420" and len(set(codes)) == len(codes)


def test_the_structural_set_is_what_the_catalogue_calls_structural() -> None:
    kinds = {e.name for e in CORE_PROPERTIES if e.kind is PropertyKind.STRUCTURAL}
    assert kinds == set(STRUCTURAL)
    assert set(DEFAULT_CHECKS) <= set(PROPERTIES_BY_NAME)
    assert set(VERIFIED) <= set(PROPERTY_ORDER)
    assert [len(STRUCTURAL), len(VERIFIED), len(DEFAULT_CHECKS)] == [11, 18, 10]


def test_reading_the_catalogue_loads_no_verifier() -> None:
    code = (
        "import pypto_core.verify, sys; sys.stdout.write(' '.join(m for m in sys.modules if 'verify.' in m))"
    )
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "pypto_core.verify.catalogue" in out
    assert not {"pypto_core.verify.ssa", "pypto_core.verify.tiles", "pypto_core.verify.scan"} & set(out)


def test_findings_come_in_the_order_of_the_names() -> None:
    found = verify_properties(broken(), ["BreakContinueValid", "SSAForm"])
    assert [d.rule for d in found] == ["BreakContinueValid", "SSAVerify"]
    assert [d.rule for d in verify_properties(broken())] == ["SSAVerify", "BreakContinueValid"]


def test_a_failure_names_the_properties() -> None:
    with pytest.raises(VerificationError) as caught:
        verify_or_raise(broken(), after="ConvertToSSA")
    error = caught.value
    assert isinstance(error, PropertyError)
    assert error.properties == ("SSAForm", "BreakContinueValid")
    text = str(error)
    assert text.startswith(
        "Verification failed after 'ConvertToSSA' for properties {SSAForm, BreakContinueValid}:\n"
    )
    assert "[2] ERROR - BreakContinueValid" in text
    assert "k.py:7:3" in text
    assert verify_or_raise(GOOD) == []


def test_the_report() -> None:
    found = verify_properties(broken(), ["SSAForm"])
    assert report(found).splitlines() == [
        "IR Verification Report",
        "======================",
        "Total: 1 error, 0 warnings",
        "",
        "[1] ERROR - SSAVerify",
        "  variable 'x' is assigned more than once",
        "  Location: k.py:7:3",
        "  Error Code: 1",
        "",
        "Status: FAILED (1 error(s) found)",
    ]
    assert report([]).endswith("Status: PASSED")


def test_unknown_names() -> None:
    with pytest.raises(UserError, match="there is no property 'SSAFrom'"):
        holds(GOOD, "SSAFrom")
    with pytest.raises(UserError) as caught:
        verify_properties(GOOD, ["SSAFrom"])
    assert "SSAForm" in str(caught.value)


def test_properties_of_others() -> None:
    given: list[Any] = []

    def plain(program: Program) -> Iterator[Diagnostic]:
        yield Diagnostic(code="PT999", message="never", severity=Severity.WARNING)

    def with_backend(program: Program, backend: object = None) -> list[Diagnostic]:
        given.append(backend)
        return [Diagnostic(code="PT999", message="no")]

    catalogue = {
        p.name: p
        for p in (
            Property(name="acme.Plain", verifier=plain),
            Property(name="acme.Machine", verifier=with_backend),
            Property(name="acme.Unknowable"),
        )
    }
    machine: Any = object()
    assert holds(GOOD, "acme.Plain", machine, catalogue=catalogue)
    assert not holds(GOOD, "acme.Machine", machine, catalogue=catalogue)
    assert given == [machine]
    assert not holds(GOOD, "acme.Unknowable", catalogue=catalogue), "nothing can decide it"
    assert verify_properties(GOOD, ["acme.Unknowable"], catalogue=catalogue) == []
    with pytest.raises(PropertyError) as caught:
        verify_or_raise(GOOD, catalogue, catalogue=catalogue)
    assert caught.value.properties == ("acme.Machine",)

"""The Ascend 910B backend."""

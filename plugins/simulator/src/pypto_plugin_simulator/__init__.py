"""Runs tile programs with numpy."""

"""PTO text output."""

"""Passes that bring a program into normal form."""

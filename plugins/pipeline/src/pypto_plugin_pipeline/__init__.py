"""Pipelined loops made explicit: stages side by side in one body, in the order that keeps the pipes busy."""

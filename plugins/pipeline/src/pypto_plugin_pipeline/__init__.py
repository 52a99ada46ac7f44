"""Pipelined loops: copies of the body per stage, loads first, transfers between cores run ahead."""

"""Pipelined loops that keep one body and turn through the slots of a ring of buffers."""

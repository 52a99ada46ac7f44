"""The kernel of a tile compiler for Ascend NPUs: IR, language, solver and plugin host."""

"""How each built-in operator is written, by family."""

"""What the built-in operators compute, one module per family; ``catalogue`` says which function is which operator's."""

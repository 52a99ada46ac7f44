"""Storage as lowering needs it: nothing is overwritten while it is read, carries and results lie in one place."""

"""The machine nimbus1 for pypto."""

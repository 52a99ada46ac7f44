"""The pass NimbusDropUnitScale for pypto."""

"""The Ascend 950 (A5) backend."""

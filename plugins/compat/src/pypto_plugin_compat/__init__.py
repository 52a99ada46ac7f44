"""The plugin of the distribution pypto-compat, whose package is ``pypto``."""

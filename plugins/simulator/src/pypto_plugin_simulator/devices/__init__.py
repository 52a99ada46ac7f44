"""Programs over several devices: launches, the order in which devices run, and races in the memory that they share."""

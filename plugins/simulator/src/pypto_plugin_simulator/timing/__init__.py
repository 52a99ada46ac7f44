"""The pipes of a core in time: events, schedule, hazards and what they say."""

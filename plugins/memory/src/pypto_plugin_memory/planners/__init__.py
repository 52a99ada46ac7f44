"""Planners: functions from a placement problem to a placement."""

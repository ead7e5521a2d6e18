"""Learners: `ask` for a parameter, `tell` what was seen."""

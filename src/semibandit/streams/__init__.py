"""Seeded streams of instances."""

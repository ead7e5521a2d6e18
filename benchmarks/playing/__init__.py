"""Streams whose whole loss functions are computed once, and the players of benchmarks/suite.py."""

"""Cluster trees, their prunings, and what a tree costs."""

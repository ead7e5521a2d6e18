"""Greedy knapsack: sort by v / s^ρ, add what fits."""

from semibandit.families.knapsack.problem import Knapsack, Solution

__all__ = ["Knapsack", "Solution"]

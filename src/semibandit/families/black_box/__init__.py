"""Any algorithm as a family: `problem` holds the class, `grid` says where its bisections probe."""

from semibandit.families.black_box.problem import BlackBox, same_output

__all__ = ["BlackBox", "same_output"]

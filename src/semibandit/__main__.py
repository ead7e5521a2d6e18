"""`python -m semibandit` is the command `semibandit`, of the Python that is named."""

from semibandit.cli import main

if __name__ == "__main__":
    main()

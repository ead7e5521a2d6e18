"""The command line: `semibandit play`, and more to come."""

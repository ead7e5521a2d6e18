"""Run the command line in this process, as a new process takes a second to start."""

import contextlib
import io
import sys
from subprocess import CompletedProcess
from unittest import mock

from semibandit import cli


def main(*words):
    """Run `semibandit` with these arguments."""
    streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2)]
    status = 0
    with (
        contextlib.redirect_stdout(streams[0]),
        contextlib.redirect_stderr(streams[1]),
        mock.patch.object(sys, "argv", ["semibandit", *words]),
    ):
        try:
            cli.main()
        except SystemExit as end:
            status = end.code
    return CompletedProcess(words, status, *(stream.buffer.getvalue().decode() for stream in streams))

"""The command line: `semibandit demo`, `play`, `fit`, `tune`, `dispersion`, `study`, `serve`."""

import sys
from concurrent.futures import BrokenExecutor

import typer

from semibandit.cli import demo, dispersion, fit, play, serve, study, tune
from semibandit.cli.terminal import adapt_output, plain

app = typer.Typer(
    help="Tune the real-valued knob of an algorithm online, with a regret guarantee.",
    no_args_is_help=True,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("demo")(demo.demo)
app.add_typer(play.app, name="play")
app.add_typer(fit.app, name="fit")
app.command("tune", cls=tune.TuneCommand)(tune.tune)
app.add_typer(dispersion.app, name="dispersion")
app.add_typer(study.app, name="study")
app.command("serve")(serve.serve)


@app.callback(invoke_without_command=True)
def _root(version: bool = typer.Option(False, "--version", help="Show the version.", is_eager=True)) -> None:
    if version:
        from semibandit import __version__

        print(f"semibandit {__version__}")
        raise typer.Exit


def main() -> None:
    """Run the command line; report bad input in one line, without a traceback."""
    adapt_output()
    try:
        app()
    except (ValueError, TypeError, OSError, ImportError, MemoryError, OverflowError, BrokenExecutor) as error:
        print(f"semibandit: {plain(str(error)) or type(error).__name__}", file=sys.stderr)
        sys.exit(2)

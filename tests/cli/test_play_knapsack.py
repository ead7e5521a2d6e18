"""`semibandit play knapsack` on streams and on files."""

from typer.testing import CliRunner

from semibandit.cli import app


def play(*arguments):
    return CliRunner().invoke(app, ["play", "knapsack", *map(str, arguments)])


def write_files(folder):
    for k in range(5):
        (folder / f"{k}.kp").write_text(f"4 {7 + k}\n6 5\n5 4\n4 3\n{k} 2\n")


def test_bounds_need_smooth_values(tmp_path):
    write_files(tmp_path)
    for arguments in (("-T", 20, "--kappa", 0), ("--files", tmp_path)):
        result = play(*arguments, "-f", "semi-bandit", "--provable")
        assert result.exit_code == 0, result.output
        assert result.output.count("unknown") == 2  # neither how many break, nor the regret


def test_files_are_played(tmp_path):
    write_files(tmp_path)
    result = play("--files", tmp_path)
    assert result.exit_code == 0, result.output
    assert "5 knapsacks from files, by name" in result.output
    result = play("--files", tmp_path / "[0-2].kp", "-T", 2, "-f", "semi-bandit")
    assert "2 knapsacks from files" in result.output
    result = play("--files", tmp_path / "0.kp", "--files", tmp_path / "4.kp", "-f", "semi-bandit")
    assert "2 knapsacks from files" in result.output


def test_bad_files_stop_the_game_or_are_counted(tmp_path):
    write_files(tmp_path)
    (tmp_path / "broken.kp").write_text("3 7\n6 5\n")
    result = play("--files", tmp_path)
    assert result.exit_code != 0
    assert f"{tmp_path / 'broken.kp'}, line 2: cut short" in str(result.exception)
    result = play("--files", tmp_path, "--skip-bad", "-f", "bandit")
    assert result.exit_code == 0, result.output
    assert "5 knapsacks from files, by name (1 bad files skipped)" in result.output
    assert "broken.kp, line 2" in result.output + result.stderr
    result = CliRunner().invoke(app, ["dispersion", "knapsack", "--files", str(tmp_path), "--skip-bad"])
    assert "5 knapsacks from files, by name (1 bad files skipped)" in result.output
    assert "too few functions for a verdict: 5" in result.output

import semibandit as sb


def test_the_curve_shows_its_band_and_the_best():
    result = sb.fit(sb.streams.synthetic(200))
    ax = sb.plots.fit(result, default=0.25)
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert f"best: ρ = {result.rho:.4g}" in labels
    assert "default: ρ = 0.25" in labels
    assert any("95% band" in label for label in labels)
    curve = next(line for line in ax.get_lines() if line.get_label().startswith("mean of 200"))
    assert curve.get_ydata().min() == result.mean_loss
    assert result.confidence.radius > result.mean_loss  # the band goes below 0
    assert ax.get_ylim()[0] == 0.0


def test_vacuous_bands_are_named_and_not_drawn():
    ax = sb.plots.fit(sb.fit(sb.streams.synthetic(5)))
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert "mean of 5 problems; confidence band vacuous" in labels
    assert not ax.collections

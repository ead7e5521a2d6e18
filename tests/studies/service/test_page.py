"""The page in a browser: list, study, live updates, slider, narrow and dark screens.

Chromium is SEMIBANDIT_CHROMIUM or the one on the path; SEMIBANDIT_SCREENSHOTS names a folder for pictures.
"""

import os
import random
import shutil
from pathlib import Path

import pytest

import semibandit as sb
from study_workers import SPACE, missing, seen_around

FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip


@pytest.fixture(scope="module")
def browser():
    try:
        from playwright.sync_api import sync_playwright
    except ImportError as error:
        missing(f"no browser to test with ({error})")
    path = os.environ.get("SEMIBANDIT_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        missing("no browser to test with (Chromium is not installed)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser):
    """Open a page; errors on its console and requests to other hosts fail the test."""
    complaints, contexts = [], []

    def failed(request):
        if request.failure != "net::ERR_ABORTED":  # a page that is left ends its requests
            complaints.append(f"failed: {request.url}, {request.failure}")

    def open_page(url, width=1600, scheme="light"):
        context = browser.new_context(viewport={"width": width, "height": 1000}, color_scheme=scheme)
        context.set_default_timeout(60_000)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("requestfailed", failed)
        ours = ("/".join(url.split("/")[:3]), "data:", "blob:")
        page.on("request", lambda request: complaints.extend([request.url][request.url.startswith(ours) :]))
        page.goto(url)
        return page

    yield open_page
    said = [
        each for each in complaints if "401 (Unauthorized)" not in each
    ]  # closing a page ends its stream, which is no error
    for context in contexts:
        context.close()
    assert said == []


def keep(page, name):
    folder = os.environ.get("SEMIBANDIT_SCREENSHOTS")
    if folder:
        page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)


@pytest.fixture
def study(tmp_path):
    """Rounds with failures, defaults and a pending trial; names contain HTML that must not be rendered."""
    random_ = random.Random(0)
    name = '<b>solver</b> & "alpha"'
    with sb.Study(f"sqlite:///{tmp_path}/studies.db", name, space=SPACE, seed=0) as study:
        for i in range(200):
            trial = study.ask(worker=f"<i>node {i % 3}</i>")
            if i % 25 == 9:
                study.tell(trial, None, failure="<u>timeout</u>")
            elif i != 150:
                study.tell(trial, seen_around(trial.rho, random_), info={"default_loss": 0.5})
        study.change(note="<script>alert(1)</script>")
        yield study


def text(page, selector):
    return page.inner_text(selector)


def wait_for(page, selector, words):
    page.wait_for_function(
        "([selector, words]) => document.querySelector(selector)?.innerText.includes(words)",
        arg=[selector, words],
    )


def test_a_tell_appears_on_the_open_page(serve, study, open_page):
    server = serve(study.storage)
    page = open_page(server.url)
    wait_for(page, "#studies tbody", study.name)
    row = text(page, "#studies tbody tr")
    assert "191" in row  # rounds told
    for _ in range(3):  # the link follows the search in the tab order
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url("**/studies/1")
    wait_for(page, "#status", "live")
    assert page.title() == text(page, "h1") == study.name
    assert text(page, "#note") == "<script>alert(1)</script>"
    assert "<u>timeout</u>" in text(page, "#failures")
    assert "<i>node 0</i>" in text(page, "#leases")
    assert f"at most {study.certificate().value:.4g}" in text(page, "#certificate")
    for plot in ("heat", "density", "losses", "widths"):
        page.wait_for_selector(f"#{plot} .main-svg")
    assert "default" in page.text_content("#losses")
    wait_for(page, "#tiles", "191")
    # The tell of another process appears without a reload.
    trial = study.ask()
    study.tell(trial, seen_around(trial.rho, random.Random(1)))
    wait_for(page, "#tiles", "192")
    wait_for(page, "#moment", f"now: event {study.n_events}")
    keep(page, "study-wide")


def test_the_slider_shows_past_events(serve, study, open_page):
    page = open_page(f"{serve(study.storage).url}/studies/1")
    wait_for(page, "#status", "live")
    page.focus("#slider")
    for _ in range(10):
        page.keyboard.press("ArrowLeft")
    wait_for(page, "#status", "showing a past event")
    event = study.n_events - 10
    wait_for(page, "#moment", f"event {event} of {study.n_events}")
    best = study.at(event).recommend()
    assert text(page, "#tiles dd").startswith(f"{best.rho:.4g}"[:5])
    # New rounds do not move the slider.
    study.tell(study.ask(), None)
    wait_for(page, "#moment", f"event {event} of {study.n_events}")
    page.keyboard.press("Home")
    wait_for(page, "#moment", "event 1 of")
    assert "no rounds yet" in text(page, "#tiles")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    wait_for(page, "#moment", "now: event")
    assert page.is_disabled("#now")
    # What was folded cannot be shown.
    study.fold(100)
    page.reload()
    wait_for(page, "#status", "live")
    page.focus("#slider")
    page.keyboard.press("Home")
    wait_for(page, "#moment", f"event {study.n_events - 100} of")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_narrow_page_does_not_scroll_sideways_and_follows_the_color_scheme(serve, study, open_page, scheme):
    server = serve(study.storage)
    page = open_page(server.url, 400, scheme)
    wait_for(page, "#studies tbody", study.name)
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    keep(page, f"list-narrow-{scheme}")
    page = open_page(f"{server.url}/studies/1", 400, scheme)
    wait_for(page, "#status", "live")
    page.wait_for_selector("#widths .main-svg")
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    background, ink = page.evaluate(
        "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]"
    )
    dark = [sum(int(part) for part in colour[4:-1].split(",")) < 384 for colour in (background, ink)]
    assert dark == ([False, True] if scheme == "light" else [True, False])
    keep(page, f"study-narrow-{scheme}")


def test_the_browser_is_asked_for_the_token(serve, study, open_page):
    server = serve(study.storage, "a-token-of-some-length")
    page = open_page(f"{server.url}/studies/1")
    page.wait_for_selector("#token")
    page.fill("#token", "wrong")
    page.keyboard.press("Enter")
    wait_for(page, ".problem", "This token is not known")
    page.fill("#token", "a-token-of-some-length")
    page.keyboard.press("Enter")
    wait_for(page, "h1", study.name)  # the page that was wanted


def test_an_empty_service_shows_new_studies_and_rows_show_alpha(serve, tmp_path, open_page):
    url = f"sqlite:///{tmp_path}/other.db"
    server = serve(url)
    page = open_page(server.url)
    wait_for(page, "#empty", "There is no study yet")
    strips = sb.Strips(3, SPACE)
    with sb.Study(url, "rows", space=strips, seed=0) as study:
        wait_for(page, "#studies tbody", "rows")
        page.click("#studies a")
        wait_for(page, "#status", "live")
        wait_for(page, "#tiles", "no rounds yet")
        trial = study.ask()
        row = strips.row_of(trial.alpha)
        study.tell(trial, strips.lay_rows({row: sb.PiecewiseConstant([0, 1], [0.5])}))
        wait_for(page, "#tiles", "α =")


LINK = '<a href="https://example.org">x</a>'


@pytest.fixture
def knobs(tmp_path):
    """A study with a long name, choices that look like links, and failures."""
    space = sb.Knobs(
        depth=sb.Integer(1, 12), step=sb.Real(1e-3, 1, log=True), mode=sb.Choice(LINK, "long" * 20, "good")
    )
    with sb.Study(f"sqlite:///{tmp_path}/studies.db", "x" * 150, space=space, seed=0) as study:
        for i in range(60):
            trial = study.ask(worker=f"node {i % 3}", info={"instance": f"file{i}"})
            study.tell(trial, None if i % 20 == 3 else 0.5, failure="broken" if i % 20 == 3 else None)
        study.ask()
        yield study


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 768, 1280, 1920])
def test_knobs_fit_every_width(serve, knobs, open_page, width, scheme):
    server = serve(knobs.storage)
    page = open_page(f"{server.url}/studies/1", width, scheme)
    wait_for(page, "#status", "live")
    page.wait_for_selector("#failed .main-svg")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.query_selector(".plot a, table a") is None  # choices are text
    assert "0.001 to 1, logarithmic" in text(page, "#settings")
    best = knobs.recommend().values
    assert f"depth = {best['depth']}" in text(page, "#tiles")
    keep(page, f"knobs-{width}-{scheme}")
    page.goto(server.url)
    wait_for(page, "#studies tbody", f"depth = {best['depth']}")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_rounds_are_filtered(serve, knobs, open_page):
    page = open_page(f"{serve(knobs.storage).url}/studies/1")
    wait_for(page, "#matches", "60 of the last 60 rounds")
    page.check("#by-failed")
    wait_for(page, "#matches", "3 of the last")
    page.select_option("#by-worker", "node 2")
    wait_for(page, "#matches", "1 of the last")
    page.uncheck("#by-failed")
    page.fill("#by-info", "FILE59")
    wait_for(page, "#matches", "1 of the last")
    assert "instance = file59" in text(page, "#rounds tbody")
    assert "node 1" in text(page, "#workers tbody")


def test_a_study_is_begun_paused_and_archived_in_the_browser(serve, tmp_path, open_page):
    url = f"sqlite:///{tmp_path}/other.db"
    server = serve(url)
    page = open_page(server.url)
    page.fill("#begin [name=name]", "made here")
    page.fill("#begin [name=hi]", "4")
    page.click("#begin button")
    wait_for(page, "h1", "made here")
    wait_for(page, "#status", "live")
    empty = ("heat", "leases", "failures", "workers", "losses", "widths", "failed", "rounds", "certificate")
    for panel in empty:
        assert not page.is_visible(f"#{panel}")
    assert page.evaluate("(document.getElementById('density').layout.shapes ?? []).length") == 0
    with sb.Study(url, "made here") as study:
        page.click("#pause")
        wait_for(page, "#pause", "Continue")
        with pytest.raises(ValueError, match="is paused"):
            study.ask()
        with sb.Client(server.url, patience=1) as client, pytest.raises(ValueError, match="is paused"):
            client.ask()
        page.click("#pause")
        wait_for(page, "#pause", "Pause")
        assert study.ask().rho <= 4
    client = sb.Client(server.url)
    page.click("#archive")
    wait_for(page, "#archive", "Undo archive")
    assert client.studies() == []
    page.reload()
    wait_for(page, "#archive", "Undo archive")
    page.goto(server.url)
    wait_for(page, "#empty", "There is no study yet")
    page.check("#archived")
    wait_for(page, "#studies tbody", "made here")


@pytest.fixture
def contexts(tmp_path):
    """A study whose best value depends on the size; labels contain HTML."""
    context = sb.Context(
        size=sb.Real(1, 1000, log=True),
        kind=sb.Choice("a", LINK),
        customer=sb.Label(),
        seats=sb.Integer(1, 9),
    )
    random_ = random.Random(0)
    with sb.Study(f"sqlite:///{tmp_path}/studies.db", "sizes", space=SPACE, context=context, seed=0) as study:
        for _ in range(300):
            size = 1000 ** random_.random()
            trial = study.ask(context={"size": size, "customer": f"<i>{random_.randrange(3)}</i>"})
            study.tell(trial, 0.1 + 0.8 * abs(trial.rho - (0.1 if size < 30 else 0.9)))
        assert len(study.learner.contexts()) > 1
        yield study


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_a_context_is_chosen_on_the_page(serve, contexts, open_page, width, scheme):
    page = open_page(f"{serve(contexts.storage).url}/studies/1", width, scheme)
    for size in (2, 900):
        page.fill("#context input", str(size))
        wait_for(page, "#chosen", f"ρ = {contexts.recommend(context={'size': size}).rho:.4g}"[:9])
    page.select_option("#context select", label=LINK)
    page.fill("#context input[type=text]", "<i>1</i>")
    given = {"size": 900, "kind": LINK, "customer": "<i>1</i>"}
    wait_for(page, "#chosen", f"ρ = {contexts.recommend(context=given).rho:.4g}"[:9])
    rows = page.locator("#contexts tbody tr").all_inner_texts()
    assert len(rows) == len(contexts.learner.contexts())
    assert rows[0].startswith("size from ")
    # A tell leaves the chosen context as it is.
    contexts.tell(contexts.ask(), 0.5)
    wait_for(page, "#tiles", "301")
    assert page.input_value("#context input") == "900"
    assert page.query_selector("#contexts i, #context a") is None  # labels and choices are text
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    keep(page, f"contexts-{width}-{scheme}")


def test_a_study_without_contexts_shows_none(serve, study, open_page):
    page = open_page(f"{serve(study.storage).url}/studies/1")
    wait_for(page, "#status", "live")
    assert not page.is_visible("#contexts")

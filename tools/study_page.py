"""Take a picture of the page of a study in Chromium. Run: python tools/study_page.py --png docs/study.png

Simulated workers play a study with failures and pending trials. Chromium is the one named by the environment
variable SEMIBANDIT_CHROMIUM, or the one on the path.
"""

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile

from playwright.sync_api import sync_playwright

import semibandit as sb


def play(storage: str, rounds: int = 1200) -> None:
    """Play rounds of four workers; some runs fail, some stay pending."""
    rng = random.Random(0)
    with sb.Study(storage, "solver --alpha", space=sb.Interval(0, 1), seed=0) as study:
        study.change(note="nightly batch, machines 0 to 3")
        for i in range(rounds):
            trial = study.ask(worker=f"node{i % 4}:{100 + i % 5}")
            if i % 33 == 9:
                study.tell(trial, None, failure=rng.choice(["timeout", "exit status 1: out of memory"]))
            elif i % 217 != 151:
                lo, hi = trial.rho - 0.1 * rng.random(), trial.rho + 0.1 * rng.random() + 1e-6
                loss = min(1.0, 0.15 + 0.06 * rng.random() + 0.8 * abs(trial.rho - 0.3))
                seen = sb.PiecewiseConstant.constant(max(0.0, lo), min(hi, 1.0), loss)
                study.tell(trial, seen, info={"default_loss": 0.5 + 0.02 * rng.random()})


def take_picture(url: str, png: str) -> None:
    """Save a screenshot of the first study, when its plots are drawn."""
    chromium = os.environ.get("SEMIBANDIT_CHROMIUM") or shutil.which("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1600, "height": 1000})
        page.set_default_timeout(120_000)
        page.goto(f"{url}/studies/1")
        page.wait_for_function("() => document.querySelector('#status')?.innerText.includes('live')")
        for plot in ("heat", "density", "losses", "widths"):
            page.wait_for_selector(f"#{plot} .main-svg")
        page.wait_for_timeout(1000)
        top = page.evaluate("document.getElementById('rounds').getBoundingClientRect().top")
        clip = {"x": 0, "y": 0, "width": 1600, "height": top + 300}  # and the first rows of the last table
        page.screenshot(path=png, full_page=True, clip=clip)
        browser.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--png", required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        storage = f"sqlite:///{folder}/tuning.db"
        play(storage)
        command = [sys.executable, "-m", "semibandit", "serve", "--port", "0", "--storage", storage]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as service:
            try:
                take_picture(service.stdout.readline().split(" at ")[-1].strip(), options.png)
            finally:
                service.terminate()

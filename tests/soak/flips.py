"""Flip single bits of files: each is read, or refused by an error that names the file."""

import random
import warnings

import semibandit as sb
from soak.attack import Outcome
from study_workers import SPACE, bits, play


def write_learner(path):
    learner = sb.Exp3Set(SPACE, seed=0)
    sb.play(learner, sb.streams.synthetic(60, seed=0))
    learner.ask()
    learner.save(path)


def write_study(path):
    with sb.Study(f"sqlite:///{path}", "knob", space=SPACE, seed=0) as study:
        play(study, 60, 0)


def read_study(path):
    with sb.Study(f"sqlite:///{path}", "knob") as study:
        study.history()
        return bits(study.learner)


def write_points(path):
    random_ = random.Random(0)
    rows = [f"{random_.random():.4f},{random_.random():.4f},{i % 2}" for i in range(12)]
    path.write_text("\n".join(["x,y,label", *rows, ""]))


def read_points(path):
    return [problem.losses() for problem in sb.streams.read_clusterings(str(path))]


FILES = {
    "learner": (write_learner, lambda path: bits(sb.load(path))),
    "study": (write_study, read_study),
    "csv": (write_points, read_points),
}
CHECKED = ("learner",)  # has a checksum: every flip is noticed


def flips(sizes, kind):
    write, read = FILES[kind]
    random_ = random.Random(sizes.seed)
    outcome = Outcome(notes={"refused": 0, "read as before": 0, "read with a change": 0})
    original, path = sizes.folder / f"original.{kind}", sizes.folder / f"flipped.{kind}"
    write(original)
    data, expected = original.read_bytes(), read(original)
    for _ in range(sizes.flips):
        place = random_.randrange(8 * len(data))
        damaged = bytearray(data)
        damaged[place // 8] ^= 1 << place % 8
        for leftover in sizes.folder.glob(f"flipped.{kind}-*"):  # of SQLite
            leftover.unlink()
        path.write_bytes(damaged)
        outcome.attempts += 1
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                answer = "read as before" if read(path) == expected else "read with a change"
            if kind in CHECKED:
                outcome.found(f"bit {place} of {original}: not noticed")
        except Exception as error:
            answer = "refused"
            if not isinstance(error, ValueError | OSError) or path.name not in str(error):
                outcome.found(f"bit {place} of {original}: no error that names the file: {error!r}")
        outcome.notes[answer] += 1
    return outcome

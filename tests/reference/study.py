"""Reference study: a list of trials, a clock, and a learner that is never saved."""

import math


class ReferenceStudy:
    def __init__(self, learner, lease=300.0):
        self.learner = learner
        self.trials = []  # [trial, status, end of the lease]
        self.lease = lease
        self.now = 0.0

    def _tidy(self):
        late = [entry for entry in self.trials if entry[1] == "pending" and entry[2] < self.now]
        for entry in sorted(late, key=lambda entry: (entry[2], entry[0].id)):
            entry[1] = "forgotten"
            self.learner.forget(entry[0])

    def ask(self, lease=None):
        self._tidy()
        trial = self.learner.ask()
        self.trials.append([trial, "pending", self.now + (self.lease if lease is None else lease)])
        return trial

    def tell(self, number, seen):
        """Return True, False if it was told before, or "forgotten"."""
        self._tidy()
        entry = self.trials[number]
        if entry[1] != "pending":
            return "forgotten" if entry[1] == "forgotten" else False
        entry[1] = "told"
        self.learner.tell(entry[0], seen)
        return True

    def forget(self, number):
        self._tidy()
        entry = self.trials[number]
        if entry[1] != "pending":
            return False
        entry[1] = "forgotten"
        self.learner.forget(entry[0])
        return True

    def renew(self, number, lease):
        """Return True, "finished" or "forgotten"."""
        self._tidy()
        entry = self.trials[number]
        if entry[1] != "pending":
            return "forgotten" if entry[1] == "forgotten" else "finished"
        entry[2] = self.now + lease
        return True

    def pending(self):
        return [entry[0].id for entry in self.trials if entry[1] == "pending"]

    def ends(self):
        return [None if math.isinf(entry[2]) else entry[2] for entry in self.trials if entry[1] == "pending"]

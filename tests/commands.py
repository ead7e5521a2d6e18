"""Commands without processes, for the tests of tuning."""

from semibandit.tuning import Command, Outcome


class Fake(Command):
    """A command that calls loss(instance, rho); exceptions stand for failures and timeouts."""

    def __init__(self, loss, output=None, integer=False):
        super().__init__("echo {rho} {instance}", integer=integer)
        self.function, self.output, self.calls = loss, output, []

    def run(self, instance, rho):
        rho = self.value(rho)
        self.calls.append((instance, rho))
        try:
            loss = self.function(instance, rho)
        except ZeroDivisionError as error:
            return Outcome(None, str(error), None, 0.0)
        except TimeoutError as error:
            return Outcome(None, None, None, 0.0, late=str(error))
        return Outcome(loss, None, self.output(instance, rho) if self.output else loss, 0.0)


def names(n):
    """Names of instances."""
    return [str(i) for i in range(n)]

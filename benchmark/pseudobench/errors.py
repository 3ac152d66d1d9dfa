"""What can go wrong, as the user is told it: one line, what is wrong and what would be right."""


class BenchError(Exception):
    """A mistake in what the user asked for. Shown as one line; the exit code is 2."""


class RunError(BenchError):
    """One run cannot go on (a NaN loss, a backbone without dropout). The other runs do."""


class Detached(BenchError):  # noqa: N818 - no error
    """Not a mistake: runs were handed over, and the command ends before they do. The exit code is 0."""


class Abandoned(BaseException):
    """Not a mistake: the process that ordered a run is gone. The run is left as it stands, to be resumed."""


class BenchWarning(UserWarning):
    """Something of a plugin did not work, and the rest goes on. The command line shows it as one line."""


class PluginError(BenchError):
    """A plugin broke its contract; the message names the plugin and what was expected."""


def one_line(error: BaseException) -> str:
    """An error as one line, with its type unless it is ours."""
    kind = "" if isinstance(error, BenchError) else f"{type(error).__name__}: "
    return kind + " ".join(str(error).split())

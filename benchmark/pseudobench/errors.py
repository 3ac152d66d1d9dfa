"""What can go wrong, as the user is told it: one line, what is wrong and what would be right."""


class BenchError(Exception):
    """A mistake in what the user asked for. Shown as one line; the exit code is 2."""


class RunError(BenchError):
    """One run cannot go on (a NaN loss, a backbone without dropout). The other runs do."""


class BenchWarning(UserWarning):
    """Something of a plugin did not work, and the rest goes on. The command line shows it as one line."""


class PluginError(BenchError):
    """A plugin broke its contract; the message names the plugin and what was expected."""

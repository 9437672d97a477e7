"""The exit codes of ``claimcheck``."""

SUCCESS = 0
#: The answer is negative: an object is invalid, does not fit, or cannot be converted.
NEGATIVE = 1
#: The command cannot be run, or some input could not be read.
UNFINISHED = 2
#: Ended by SIGINT.
INTERRUPTED = 130

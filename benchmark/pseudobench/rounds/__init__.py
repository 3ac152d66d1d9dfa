"""Algorithm 2: one run as a loop of rounds. Start reading at `algorithm.py`."""

"""Waiting for something to become true, always with a deadline."""
import os
import time

# Sanitizers make everything slower; their preset sets this.
PATIENCE = float(os.environ.get("AGENTBOX_TEST_PATIENCE", "1"))


def wait_until(what, probe, seconds=10.0):
    """The first true value of probe(); an AssertionError that names what was waited for."""
    deadline = time.monotonic() + seconds * PATIENCE
    while True:
        value = probe()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds * PATIENCE:g} s: {what}")
        time.sleep(0.02)

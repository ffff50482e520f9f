"""What the tests of the cluster share. They run inside its namespaces: scripts/test-cluster."""
import itertools
import secrets
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]

import node  # noqa: E402
from cluster import Namespace, NodeParts  # noqa: E402

# Unlike those of a run before this one, which may still be going.
_run = secrets.token_hex(2)
_numbers = itertools.count(1)


def pytest_configure(config):
    if not node.KUBECONFIG.exists():
        pytest.exit(f"no cluster runs: {node.KUBECONFIG} is missing. Next step: scripts/test-cluster", 1)


def pytest_terminal_summary(terminalreporter):
    """What was measured is told, never judged."""
    lines = [line for report in terminalreporter.getreports("passed") if report.when == "call"
             for name, line in report.user_properties if name == "measured"]
    if lines:
        terminalreporter.section("measured")
        for line in lines:
            terminalreporter.line(line)


@pytest.fixture(scope="session", autouse=True)
def nothing_left():
    yield
    Namespace.all_gone()


@pytest.fixture
def measured(record_property):
    return lambda line: record_property("measured", line)


@pytest.fixture(scope="module")
def namespace(tmp_path_factory):
    """A namespace for the tests of a file, which enforces the strictest of Kubernetes' own standards for pods."""
    with Namespace(f"boxes-{_run}-{next(_numbers)}", tmp_path_factory.mktemp("operator")) as made:
        yield made


@pytest.fixture
def own_namespace(tmp_path_factory):
    """One of this test's own."""
    with Namespace(f"boxes-{_run}-{next(_numbers)}", tmp_path_factory.mktemp("operator")) as made:
        yield made


@pytest.fixture(scope="module")
def box(namespace):
    """One box for the tests of a file that leave it as they found it."""
    box = namespace.box("demo")
    box.create()
    yield box
    box.delete()


@pytest.fixture
def parts():
    """Kills parts of the node, and sees to it that they are back afterwards."""
    with NodeParts() as parts:
        yield parts

"""What the end-to-end tests share. kit/ has the parts; contained.py runs each file of tests."""
import itertools

import pytest

from kit import programs
from kit.box import LocalBox
from kit.door import Door

_names = itertools.count(1)


def pytest_configure(config):
    missing = [path.name for path in (programs.SSHD, programs.BOX) if not path.exists()]
    if missing:
        pytest.exit(f"{programs.BIN} has no {', '.join(missing)}. Next step: scripts/build", 1)


def _make_door(tmp_path_factory, extra_config=""):
    folder = tmp_path_factory.mktemp("door")
    folder.chmod(0o711)
    return Door(folder, extra_config)


@pytest.fixture(scope="session", autouse=True)
def passable(tmp_path_factory):
    """pytest makes its folders for their owner alone; the door and the box are other users."""
    base = tmp_path_factory.getbasetemp()
    base.chmod(0o711)


@pytest.fixture(scope="module")
def shared_door(tmp_path_factory):
    """One door for the tests of a file that leave it as they found it."""
    door = _make_door(tmp_path_factory)
    try:
        yield door.start()
    finally:
        door.stop()


@pytest.fixture
def door(tmp_path_factory):
    """A door of this test's own."""
    door = _make_door(tmp_path_factory)
    try:
        yield door.start()
    finally:
        door.stop()


@pytest.fixture
def new_door(tmp_path_factory):
    """Makes doors with a configuration of the test's own; they are not started yet."""
    doors = []

    def make(extra_config=""):
        doors.append(_make_door(tmp_path_factory, extra_config))
        return doors[-1]

    yield make
    for door in doors:
        door.stop()


@pytest.fixture(scope="module")
def box():
    """One local box for the tests of a file."""
    box = LocalBox(f"box-{next(_names)}")
    try:
        box.create()
        yield box
    finally:
        box.delete()

"""What reaches a command from outside, what does not, and what of it the outside can see."""
from pathlib import Path

import pytest
from kit import programs
from kit.door import Door
from kit.processes import all_processes
from kit.target import run
from kit.waiting import wait_until

SECRET = "otter-42"


@pytest.fixture
def passing_door(tmp_path_factory, monkeypatch):
    """A door that passes one of its own variables on."""
    monkeypatch.setenv("DEMO_GH_TOKEN", "a token")
    monkeypatch.setenv("DEMO_OTHER", "not named")
    folder = tmp_path_factory.mktemp("door")
    folder.chmod(0o711)
    door = Door(folder)
    door.config.write_text(door.config.read_text() + "pass_env: [DEMO_GH_TOKEN]\n", encoding="utf-8")
    try:
        yield door.start()
    finally:
        door.stop()


def test_a_variable_that_is_named_reaches_commands_and_no_other(passing_door):
    with passing_door.target.session() as session:
        said = session.shell('echo "$DEMO_GH_TOKEN/$DEMO_OTHER/$(env | grep -c ^AGENTBOX_)"')
        assert said["stdout"] == "a token//0\n"


@pytest.mark.parametrize("name", ["AGENTBOX_ROLE", "AGENTBOX_RECORDS_FD", "not a name", "A=B"])
def test_names_of_our_own_cannot_be_passed(shared_door, tmp_path, name):
    config = tmp_path / "config.yaml"
    config.write_text(shared_door.config.read_text() + f'pass_env: ["{name}"]\n', encoding="utf-8")
    result = run([programs.SSHD, "--check", config])
    assert result.returncode != 0 and b"pass_env" in result.stderr, result


def test_a_secret_of_a_call_is_in_no_command_line(shared_door):
    with shared_door.target.session() as session:
        arguments = {"command": "echo $S; sleep 30", "env": {"S": SECRET}, "stdin": SECRET}
        number = session.start("tools/call", {"name": "shell_exec", "arguments": arguments})
        wait_until("it runs", lambda: [each for each in all_processes() if each.command[:2] == ("sleep", "30")])
        seen = [each for each in all_processes() if any(SECRET in word for word in each.command)]
        assert not seen, seen
        session.notify("notifications/cancelled", {"requestId": number})
        session.ping()


def test_what_a_profile_prints_is_no_part_of_the_protocol(shared_door):
    home = Path(shared_door.folder) / "box" / "home"
    (home / ".profile").write_text("echo welcome to the box\n", encoding="utf-8")
    (home / ".bashrc").write_text("echo welcome to the box\n", encoding="utf-8")
    with shared_door.target.session() as session:
        session.ping()
        assert session.shell("echo hi", login=True)["stdout"] == "welcome to the box\nhi\n"
        assert session.shell("echo hi")["stdout"] == "hi\n"
        assert session.finish() == 0  # checks that each line is a message, from the first byte on

"""How many tools a session has: the door's configuration says it, and a key's own line wins."""
from kit.bare import bare_session
from kit.target import make_key, public_line


def names(session):
    return {tool["name"] for tool in session.request("tools/list")["tools"]}


def test_a_key_has_the_profile_of_its_line_or_else_the_one_of_the_configuration(new_door, tmp_path):
    door = new_door("profile: core\nlimits: {own_unauthenticated: 0}")
    full, reader = make_key(tmp_path / "full"), make_key(tmp_path / "reader")
    door.write_keys(
        public_line(door.key),
        f'agentbox-profile="full" {public_line(full)}',
        f'agentbox-role="reader",agentbox-profile="standard" {public_line(reader)}',
    )
    door.start()
    with door.target.session() as session:
        core = names(session)
        assert "shell_exec" in core and "list_blobs" not in core and "process_resize" not in core
        assert session.call("system_info")["profile"] == "core"
        refused = session.reply(session.start("tools/call", {"name": "list_blobs"}))
        assert refused["error"]["code"] == -32602 and "list_blobs" in refused["error"]["message"]
    with door.target.with_(identity=full).session() as session:
        assert names(session) > core and "process_resize" in names(session)
        assert session.call("system_info")["profile"] == "full"
    with door.target.with_(identity=reader).session() as session:
        assert "list_blobs" in names(session) and not {"shell_exec", "process_resize"} & names(session)
        told = session.call("system_info")
        assert told["profile"] == "standard" and told["role"] == "reader"


def test_a_key_of_an_unknown_profile_opens_nothing(new_door, tmp_path):
    door = new_door()
    other = make_key(tmp_path / "other")
    door.write_keys(public_line(door.key), f'agentbox-profile="all" {public_line(other)}')
    door.start()
    assert door.target.with_(identity=other).run("-T").returncode == 255


def test_every_tool_that_instructions_name_is_there(tmp_path):
    """Of every profile: what a model is told of, it can call."""
    every = set()
    for profile in ("full", "standard", "core"):
        with bare_session(tmp_path / profile, profile=profile, handshake=False) as session:
            about = session.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {},
                                                   "clientInfo": {"name": "t", "version": "1"}})
            session.notify("notifications/initialized")
            has = names(session)
            every |= has
            told = {name for name in every if name in about["instructions"]}
            assert told <= has, (profile, told - has)

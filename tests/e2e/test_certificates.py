"""Short-lived access: certificates of a CA that the box trusts, made by ssh-keygen, and each way in which one must not count."""
import json
import os

import paramiko
import pytest
from kit import programs
from kit.box import LocalBox, ok
from kit.certificates import Authority, blob_of, name_of, options
from kit.mcp import Session, gets_in
from kit.raw import FAILURE, GONE, PK_OK, SUCCESS, RawClient
from kit.target import make_key, public_line, run
from kit.waiting import PATIENCE, wait_until

BOX = "testbox"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("certificates")


@pytest.fixture(scope="module")
def ca(folder):
    return Authority(folder)


@pytest.fixture(scope="module")
def agent(folder):
    """A key that no authorized_keys names."""
    return make_key(folder / "agent")


def trust(door, ca, *lines, **others):
    door.write_keys(*(lines or (public_line(door.key),)), **{"user_ca": f"{ca.line}\n", "box_name": BOX, **others})


@pytest.fixture(scope="module")
def ca_door(shared_door, ca):
    """One for all tests that leave its keys as they are."""
    trust(shared_door, ca)
    shared_door.await_audit("keys_loaded", lambda line: line.get("authorities") == 1)
    return shared_door


@pytest.fixture
def door(ca_door, ca):
    """The same for a test that changes its keys; they are as before in the end."""
    yield ca_door
    trust(ca_door, ca)


def fingerprint(key):
    return run(["ssh-keygen", "-lf", f"{key}.pub"]).stdout.decode().split()[1]


def signer(key):
    held = paramiko.Ed25519Key.from_private_key_file(str(key))
    return lambda data: held.sign_ssh_data(data).asbytes()[-64:]


def may_enter(door, key, certificate):
    return gets_in(door.target.with_(identity=key).ssh(*options(certificate)))


def results(door, **fields):
    """(result, reason) of each try that the audit has of such a certificate."""
    return [
        (line["result"], line["reason"])
        for line in door.audit("auth")
        if all(line.get(name) == value for name, value in fields.items())
    ]


def assert_refused(door, key, certificate, reason):
    """Until the audit says so: of more than ten tries a second it only keeps the number."""
    seen = len(door.audit("auth"))

    def said():
        with RawClient(door.target) as client:
            client.begin_login()
            client.log_in(name_of(certificate), blob_of(certificate), signer(key), signed_as="ssh-ed25519")
            assert client.answer() == FAILURE
        return any(line["result"] == "refused" and line["reason"] == reason for line in door.audit("auth")[seen:])

    wait_until(f"the audit says: {reason}", said)


# What counts


def test_a_certificate_lets_in_and_the_audit_says_whose(ca_door, ca, agent):
    certificate = ca.sign(agent, serial=2**64 - 1, key_id="anna@desk")
    with ca_door.target.with_(identity=agent).session(*options(certificate)) as session:
        session.ping()
        assert session.finish() == 0
    (line,) = [line for line in ca_door.audit("auth") if line["result"] == "accepted" and line.get("key_id") == "anna@desk"]
    assert line["key"] == fingerprint(agent) and line["ca"] == fingerprint(ca.key)
    assert line["serial"] == str(2**64 - 1) and line["algorithm"] == "ssh-ed25519-cert-v01@openssh.com"
    (started,) = [each for each in ca_door.audit("session_start") if each["connection"] == line["connection"]]
    assert started["key"] == fingerprint(agent) and started["role"] == "agent"
    assert not may_enter(ca_door, agent, "/dev/null"), "without its certificate the key is nobody's"


@pytest.mark.parametrize("kind", [("ecdsa", "-b", "256"), ("ecdsa", "-b", "384"), ("ecdsa", "-b", "521"), ("rsa", "-b", "2048")], ids=lambda kind: "-".join(kind))
def test_every_kind_of_key_and_of_ca_counts(door, tmp_path, kind):
    ca, key = Authority(tmp_path, "ca", *kind), make_key(tmp_path / "key", *kind)
    trust(door, ca)
    certificate = ca.sign(key)
    assert may_enter(door, key, certificate)
    assert door.audit("auth")[-1]["algorithm"] == name_of(certificate)
    if kind[0] == "rsa":
        assert may_enter(door, key, ca.sign(key, "-t", "rsa-sha2-256"))
        assert not may_enter(door, key, ca.sign(key, "-t", "ssh-rsa")), "the CA signed with SHA-1"
        assert not may_enter(door, key, ca.sign(make_key(tmp_path / "short", "rsa", "-b", "1024")))


def test_one_of_several_principals_is_enough_and_every_serial_is_good(ca_door, ca, agent):
    assert may_enter(ca_door, agent, ca.sign(agent, principals=f"other,{BOX}", serial=0, validity="always:forever"))


def test_a_clock_that_is_a_little_behind_is_forgiven(ca_door, ca, agent):
    assert may_enter(ca_door, agent, ca.sign(agent, validity="+20s:+1h"))


def test_options_that_only_restrict_change_nothing_and_extensions_give_nothing(ca_door, ca, agent):
    certificate = ca.sign(
        agent, "-O", "force-command=/bin/sh", "-O", "source-address=10.0.0.0/8,127.0.0.1/32", "-O", "extension:made-up"
    )
    assert may_enter(ca_door, agent, certificate)
    refused = ca_door.target.with_(identity=agent).run(*options(certificate), "-W", "127.0.0.1:22")
    assert refused.returncode == 255 and b"stdio forwarding failed" in refused.stderr


# What does not count


CASES = {
    "expired": ({"validity": "20200101:20200102"}, (), "certificate expired"),
    "a second too old": ({"validity": "-5m:-1s"}, (), "certificate expired"),
    "not yet": ({"validity": "+1h:+2h"}, (), "certificate not valid yet"),
    "other box": ({"principals": f"{BOX}2,agent"}, (), "certificate for another box"),
    "no principals": ({"principals": None}, (), "certificate without principals"),
    "host": ({"host": True}, (), "not a user's certificate"),
    "option": ({}, ("-O", "critical:made-up=x"), "certificate with a critical option that is not known"),
    "empty option": ({}, ("-O", "critical:verify-required"), "certificate with a critical option that is not known"),
    "address": ({}, ("-O", "source-address=10.0.0.0/8"), "address not allowed for this certificate"),
    "long id": ({"key_id": "x" * 600}, (), "the certificate's key id is too long or no text"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_certificate_that_does_not_hold_lets_nobody_in(ca_door, ca, agent, case):
    arguments, words, reason = CASES[case]
    assert_refused(ca_door, agent, ca.sign(agent, *words, **arguments), reason)


def test_a_certificate_of_another_ca_lets_nobody_in(ca_door, tmp_path, agent):
    other = Authority(tmp_path, "other")
    assert_refused(ca_door, agent, other.sign(agent), "certificate of a CA that is not trusted")
    assert results(ca_door, ca=fingerprint(other.key))


def test_a_changed_byte_anywhere_lets_nobody_in(ca_door, ca, agent):
    """Each field that would let more in, and the signature: the CA signed other bytes."""
    certificate = ca.sign(agent, principals="elsewhr")
    blob = blob_of(certificate)
    assert blob.count(b"elsewhr") == 1
    changed = {"principal": blob.replace(b"elsewhr", BOX.encode())}
    good = blob_of(ca.sign(agent))
    for what, at in (("signature", len(good) - 1), ("nonce", 40), ("reserved or CA", len(good) - 100)):
        changed[what] = good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :]
    changed["key"] = good.replace(blob_of(agent.with_name("agent.pub"))[-32:], blob_of(ca_door.key.with_name("key.pub"))[-32:])
    changed["more behind"] = good + b"\0"
    changed["cut"] = good[:-1]
    changed["nothing behind the name"] = good[: 4 + len(name_of(certificate))]
    seen = len(ca_door.audit("auth"))
    for what, blob in changed.items():
        key = ca_door.key if what == "key" else agent
        with RawClient(ca_door.target) as client:
            client.begin_login()
            client.log_in(name_of(certificate), blob, signer(key), signed_as="ssh-ed25519")
            assert client.answer() in (FAILURE, GONE), what
    tries = ca_door.audit("auth")[seen:]
    assert tries and not any(line["result"] == "accepted" for line in tries), tries
    with RawClient(ca_door.target) as client:
        client.begin_login()
        client.log_in(name_of(certificate), good, signer(agent), signed_as="ssh-ed25519")
        assert client.answer() == SUCCESS, "unchanged it counts"


def test_the_certificate_of_a_listed_key_stands_for_itself(ca_door, ca):
    """Nothing falls back from a certificate to the line of its key: the client would have to offer the key."""
    expired = ca.sign(ca_door.key, validity="20200101:20200102", key_id="listed")
    with RawClient(ca_door.target) as client:
        client.begin_login()
        client.log_in(name_of(expired), blob_of(expired), signer(ca_door.key), signed_as="ssh-ed25519")
        assert client.answer() == FAILURE
    assert may_enter(ca_door, ca_door.key, expired), "OpenSSH offers the key after it, and that one counts"
    good = ca.sign(ca_door.key, key_id="listed and certified")
    assert may_enter(ca_door, ca_door.key, good)
    assert results(ca_door, key_id="listed and certified")[-1] == ("accepted", "authorised by a certificate")


def test_a_certificate_that_was_only_offered_is_no_login_of_another_key(ca_door, ca, agent, tmp_path):
    stranger = make_key(tmp_path / "stranger")
    certificate = ca.sign(agent, key_id="offered alone")
    name, blob = name_of(certificate), blob_of(certificate)
    plain = blob_of(stranger.with_name("stranger.pub"))
    with RawClient(ca_door.target) as client:
        client.begin_login()
        client.offer(name, blob)
        assert client.answer() == PK_OK
        client.log_in("ssh-ed25519", plain, signer(stranger))
        assert client.answer() == FAILURE
        client.log_in("ssh-ed25519", blob_of(agent.with_name("agent.pub")), signer(agent))
        assert client.answer() == FAILURE, "nor of its own key without it"
    with RawClient(ca_door.target) as client:
        client.begin_login()
        client.offer(name, blob)
        assert client.answer() == PK_OK
        client.log_in(name, blob, signer(stranger), signed_as="ssh-ed25519")
        assert client.answer() in (FAILURE, GONE), "the certificate's key did not sign"
    assert not any(result == "accepted" for result, _ in results(ca_door, key_id="offered alone"))
    with RawClient(ca_door.target) as client:
        client.begin_login()
        client.offer("ssh-ed25519", plain)
        assert client.answer() == FAILURE
        client.log_in(name, blob, signer(agent), signed_as="ssh-ed25519")
        assert client.answer() == SUCCESS
    with RawClient(ca_door.target) as client:
        client.begin_login()
        client.log_in(name, blob, signer(agent), signed_as="ssh-ed25519", user="root")
        assert client.answer() == FAILURE


# The files


def test_without_a_ca_or_a_name_no_certificate_is_taken_and_keys_are(door, ca, agent):
    certificate = ca.sign(agent)
    for others in (
        {"user_ca": ""},
        {"box_name": ""},
        {"box_name": "two words"},
        {"user_ca": f"{ca.line}\nnonsense\n"},
        {"user_ca": f"restrict {ca.line}\n"},
    ):
        trust(door, ca, **others)
        assert not may_enter(door, agent, certificate), others
        assert may_enter(door, door.key, "/dev/null"), others
    wanted = ["box_name: not there", "box_name: not one word", "user_ca: line 2", "user_ca: line 1"]
    said = [line["certificates_refused"] for line in door.audit("keys_loaded") if "certificates_refused" in line]
    assert all(any(text.startswith(each) for text in said) for each in wanted), said
    door.write_keys(f"cert-authority {ca.line}", ca.line, box_name=BOX)
    assert not may_enter(door, agent, certificate), "authorized_keys names no CA"
    trust(door, ca)
    assert may_enter(door, agent, certificate)


def test_a_ca_that_others_could_write_lets_nobody_in(door, ca, agent):
    trust(door, ca)
    (door.folder / "door" / "keys" / "..data" / "user_ca").chmod(0o666)
    assert not may_enter(door, agent, ca.sign(agent))
    door.await_audit("keys_loaded", lambda line: "user_ca" not in line.get("refused", "user_ca") or "written by others" in line.get("refused", ""))


def test_check_says_whose_certificates_are_taken(ca_door, ca):
    program = programs.reachable_copy(programs.SSHD, programs.WORLD / "bin")
    command = [program, "--check", ca_door.config, "--output", "json"]
    said = json.loads(run(command, **programs.account("agentbox-door")).stdout)["policy"]
    (line,) = [line for line in said if line["what"] == f"certificates of CA {fingerprint(ca.key)}"]
    assert BOX in line["gets"]
    assert any(line["what"] == "a certificate that expires" and line["gets"] == "ends its sessions" for line in said)


# What ends an open session


def take_away(door, ca, agent, what):
    others = {
        "serial": {"revoked": "serial:7\n"},
        "id": {"revoked": "id:anna desk\n"},
        "key": {"revoked": f"{fingerprint(agent)}\n"},
        "CA's key": {"revoked": f"{fingerprint(ca.key)}\n"},
        "CA": {"user_ca": ""},
        "name": {"box_name": ""},
    }
    trust(door, ca, **others[what])


@pytest.mark.parametrize("what", ["serial", "id", "key", "CA's key", "CA", "name"])
def test_what_is_taken_away_ends_the_open_session_and_its_jobs_and_no_other(door, ca, tmp_path, what):
    agent = make_key(tmp_path / "its-own")  # jobs live on while another certificate of their key does
    trust(door, ca)
    certificate = ca.sign(agent, serial=7, key_id="anna desk")
    with door.target.with_(identity=agent).session(*options(certificate)) as session, door.target.session() as kept:
        session.call("process_start", {"command": "sleep 4711"})
        wait_until("the job runs", lambda: any("4711" in process.command for process in door.box_processes()))
        take_away(door, ca, agent, what)
        assert session.wait(10) != 0
        wait_until("its job is gone", lambda: not any("4711" in process.command for process in door.box_processes()))
        kept.ping()
    assert not may_enter(door, agent, certificate)
    if what in ("serial", "id"):
        assert may_enter(door, agent, ca.sign(agent, serial=8, key_id="anna desk 2"))


def expiring(ca, agent, **arguments):
    """One that outlives its first login by some seconds."""
    return ca.sign(agent, validity=f"-5m:+{int(4 * PATIENCE)}s", **arguments)


def test_an_expired_certificate_ends_its_session_and_a_renewed_one_keeps_the_jobs(door, ca, agent):
    trust(door, ca)
    target = door.target.with_(identity=agent)
    first = expiring(ca, agent)
    with target.session(*options(first)) as session, target.session(*options(ca.sign(agent, serial=2))) as renewed:
        session.call("process_start", {"command": "sleep 4712"})
        assert session.wait(30) != 0
        renewed.ping()
        assert any("4712" in process.command for process in door.box_processes())
    door.await_audit("disconnect", lambda line: line["reason"] == "certificate expired")
    assert not may_enter(door, agent, first)


def test_where_it_is_so_configured_open_sessions_outlive_their_certificate_and_no_new_one_begins(new_door, ca, agent):
    door = new_door("certificate_expiry: keep_sessions\nlimits: {own_unauthenticated: 0}")
    trust(door, ca)
    door.start()
    target, certificate = door.target.with_(identity=agent), expiring(ca, agent)
    shared = ("-o", f"ControlPath={door.folder}/client/control")
    with target.session(*options(certificate), "-M", *shared) as session:
        session.ping()
        wait_until("it has expired", lambda: not may_enter(door, agent, certificate), 30)
        session.ping()
        refused = target.run("-T", "-M", *shared, stdin=b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
        assert b"result" not in refused.stdout, refused
        session.ping()
        trust(door, ca, revoked="serial:1\n")
        assert session.wait(10) != 0


def test_certificates_of_other_clients_libraries_count(ca_door, ca, agent):
    key = paramiko.Ed25519Key.from_private_key_file(str(agent))
    key.load_certificate(str(ca.sign(agent)))
    client = paramiko.SSHClient()
    client.set_missing_host_key_policy(paramiko.AutoAddPolicy())
    try:
        client.connect(ca_door.target.host, ca_door.target.port, "agent", pkey=key, allow_agent=False, look_for_keys=False)
        stdin, stdout, _ = client.exec_command("x")
        stdin.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
        stdin.channel.shutdown_write()
        assert json.loads(stdout.readline())["result"] == {}
    finally:
        client.close()


# The operator's side


def say(*words, code=0):
    result = programs.provision(*words, "--output", "json")
    assert result.returncode == code, (words, result.stdout, result.stderr)
    return json.loads(result.stdout)


def test_an_operator_signs_trusts_and_revokes(tmp_path):
    made = say("ca", "init")
    assert made["changed"] and not say("ca", "init")["changed"]
    box = LocalBox("certified")
    try:
        ssh = box.create("--user-ca", made["public_key"])["ssh"]
        assert box.create("--user-ca", made["public_key"])["generation"] == 1

        def command(signed):
            return [word.replace(ssh["identity_file"], signed["identity_file"]) for word in ssh["command"]]

        def enters(signed):
            result = run(command(signed), b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
            return b"result" in result.stdout

        signed = say("ca", "sign", "--box", "certified", "--ttl", "10m", "--key-id", "anna", "--source-address", "127.0.0.0/8")
        assert not enters(say("ca", "sign", "--box", "elsewhere")), "a certificate is for one box"
        with Session(command(signed)) as session:
            session.ping()
            revoked = say("revoke", "certified", "--serial", signed["serial"])
            assert revoked["changed"] and revoked["proven"] and revoked["generation"] == 2
            assert session.wait(10) != 0
        assert not enters(signed) and not say("revoke", "certified", "--serial", signed["serial"])["changed"]
        accepted = [line for line in box.audit_log("--event", "auth")["events"] if line.get("serial") == signed["serial"] and line["result"] == "accepted"]
        assert accepted[0]["key_id"] == "anna" and accepted[0]["ca"] == made["ca"]
        assert enters(say("ca", "sign", "--box", "certified"))
        say("revoke", "certified", "--key", made["public_key"])
        assert not enters(say("ca", "sign", "--box", "certified")), "its CA is revoked"
        say("ca", "trust", "--box", "certified", code=4)

        other = say("ca", "init", "--ca", str(tmp_path / "other"))
        trusted = say("ca", "trust", "--box", "certified", "--ca", other["public_key"])
        assert trusted["authorities"] == [other["ca"]] and trusted["changed"]
        key = make_key(tmp_path / "own")
        say("ca", "sign", "--box", "certified", "--ca", other["private_key"], "--key", f"{key}.pub")
        assert enters({"identity_file": str(key)})
        ok(programs.provision("suspend", "certified"))
        ok(programs.provision("resume", "certified"))
        assert enters({"identity_file": str(key)}), "it is still trusted"
        say("ca", "sign", "--box", "certified", "--ttl", "soon", code=2)
    finally:
        box.delete()


def signed_key(certificate):
    """(the key that it is for, the CA that signed it), as ssh-keygen reads it."""
    lines = run(["ssh-keygen", "-Lf", str(certificate)]).stdout.decode().splitlines()
    return tuple(next(line for line in lines if word in line).split("SHA256:")[1].split()[0] for word in ("Public key:", "Signing CA:"))


def print_of(key):
    return fingerprint(key).removeprefix("SHA256:")


def test_what_is_signed_is_what_was_named_from_the_folder_of_the_caller(tmp_path):
    """ssh-keygen runs in another folder, in which the same names may be other files."""
    ca, key = make_key(tmp_path / "ca"), make_key(tmp_path / "-dash")
    words = ("ca", "sign", "--box", "anybox", "--ca", "ca", "--key=-dash.pub", "--output", "json")
    said = json.loads(ok(programs.provision(*words, cwd=tmp_path)).stdout)
    assert said["certificate"] == "-dash-cert.pub" and said["key"] == fingerprint(key)
    assert signed_key(tmp_path / "-dash-cert.pub") == (print_of(key), print_of(ca))
    assert not list((programs.WORLD / "state" / "ca").glob("sign-*")), "nothing of the signing is left"


def test_a_link_in_the_place_of_the_certificate_is_replaced_and_its_target_is_not_written(tmp_path):
    ca, key = make_key(tmp_path / "ca"), make_key(tmp_path / "a")
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "a-cert.pub").symlink_to(tmp_path / "precious")
    say("ca", "sign", "--box", "anybox", "--ca", str(ca), "--key", f"{key}.pub")
    assert (tmp_path / "precious").read_text() == "precious"
    assert not (tmp_path / "a-cert.pub").is_symlink()
    assert signed_key(tmp_path / "a-cert.pub") == (print_of(key), print_of(ca))


def test_words_that_could_not_restrict_are_refused_and_nothing_is_signed(tmp_path):
    ca, key = make_key(tmp_path / "ca"), make_key(tmp_path / "a")
    sign = ("ca", "sign", "--ca", str(ca), "--key", f"{key}.pub")
    for words in (
        ("--source-address", ""), ("--source-address="), ("--key-id", ""), ("--box", ""), ("--ttl", ""), ("--serial", ""),
        ("--serial", "18446744073709551616"), ("--serial", "-1"), ("--serial", "0x10"), ("--serial", "010"),
    ):
        words = (words,) if isinstance(words, str) else words
        box = () if "--box" in words else ("--box", "anybox")
        say(*sign, *box, *words, code=2)
    assert not (tmp_path / "a-cert.pub").exists()
    say("ca", "init", "--ca", str(ca), "--ttl", "1h", code=2)
    say("ca", "trust", "--box", "anybox", "--serial", "7", code=2)


def test_each_refusal_says_what_to_do_next(tmp_path):
    key = make_key(tmp_path / "a")
    assert "a.pub" in say("ca", "sign", "--box", "anybox", "--ca", str(key), "--key", str(key), code=4)["error"]["next"]
    assert "identity" not in say("revoke", "anybox", "--key", str(key), code=4)["error"]["next"]
    assert "identity" not in say("create", "anybox", "--user-ca", str(key), code=4)["error"]["next"]
    empty = {**os.environ, "AGENTBOX_STATE_DIR": str(tmp_path / "state")}
    missing = programs.provision("ca", "trust", "--box", "anybox", env=empty)
    assert missing.returncode != 0 and b"agentbox-provision ca init" in missing.stderr


def test_an_operator_locks_out_keys_that_no_list_names_and_keeps_what_was_locked_out_by_hand(tmp_path):
    made = say("ca", "init")
    box = LocalBox("strangers")
    try:
        box.create()
        assert "ca trust --box strangers" in say("create", "strangers", "--user-ca", made["public_key"], code=4)["error"]["next"]
        listed = tmp_path / "listed"
        listed.write_text(run(["ssh-keygen", "-yf", box.status()["ssh"]["identity_file"]]).stdout.decode())
        assert "may enter" in say("ca", "trust", "--box", "strangers", "--ca", str(listed), code=4)["error"]["message"]
        keys = [make_key(tmp_path / name) for name in ("one", "two", "three", "four")]

        def sign(key, *more):
            return programs.provision("ca", "sign", "--box", "strangers", "--key", f"{key}.pub", *more)

        assert b"does not take certificates of this CA" in ok(sign(keys[0])).stderr
        trusted = say("ca", "trust", "--box", "strangers")
        assert trusted["sessions_ended"] == 0
        ssh = box.status()["ssh"]

        def session(key):
            return Session([word.replace(ssh["identity_file"], str(key)) for word in box.status()["ssh"]["command"]], handshake=False)

        def enters(key):
            each = session(key)
            try:
                each.start("ping")
                return each.reply(1) is not None
            except AssertionError:
                return False
            finally:
                each.kill()

        for number, key in enumerate(keys):
            said = ok(sign(key, "--serial", str(1000 + number), "--key-id", f"id-{number}"))
            assert b"does not take" not in said.stderr and enters(key)
        by_hand = next(box.folder().rglob("..data")) / "revoked"
        with by_hand.open("a", encoding="utf-8") as out:
            out.write("id:id-3\n")
        wait_until("the line by hand counts", lambda: not enters(keys[3]))

        for key, name in ((keys[0], f"{keys[0]}.pub"), (keys[1], fingerprint(keys[1]))):
            with session(key) as open_session:
                open_session.start("ping")
                assert open_session.reply(1) is not None
                revoked = say("revoke", "strangers", "--key", name)
                assert revoked["changed"] and revoked["proven"] and revoked["sessions_ended"] == 1, revoked
                assert revoked["gone"] == [fingerprint(key)]
                assert open_session.wait(10) != 0
            assert not enters(key) and not say("revoke", "strangers", "--key", name)["changed"]

        evicted = say("revoke", "strangers", "--serial", "1002", "--evict")
        assert evicted["evicted"] and evicted["sessions_ended"] is None
        assert b"not counted" in ok(programs.provision("revoke", "strangers", "--serial", "1002")).stdout
        ok(programs.provision("suspend", "strangers"))
        ok(programs.provision("resume", "strangers"))
        for key in keys:
            assert not enters(key), key
        assert box.session_works()
    finally:
        box.delete()

"""User certificates as ssh-keygen makes them."""
import base64
import shutil

from kit.target import make_key, public_line, run


class Authority:
    """A CA in a folder of a test's; its public line is what a user_ca file holds."""

    def __init__(self, folder, name="ca", kind="ed25519", *options):
        self.folder = folder
        self.key = make_key(folder / name, kind, *options)
        self.line = public_line(self.key)
        self.made = 0

    def sign(self, key, *options, principals="testbox", serial=1, key_id="anna", validity="-5m:+1h", host=False):
        """A certificate for key; its path. Each has a name of its own."""
        self.made += 1
        copy = self.folder / f"{self.key.name}-{self.made}"
        shutil.copy(f"{key}.pub", f"{copy}.pub")
        command = ["ssh-keygen", "-q", "-s", self.key, "-I", key_id, "-z", serial, "-V", validity]
        command += ["-n", principals] if principals else []
        command += ["-h"] if host else []
        run([*command, *options, f"{copy}.pub"]).check_returncode()
        return copy.with_name(f"{copy.name}-cert.pub")


def blob_of(certificate):
    """The bytes that a client sends of it."""
    return base64.b64decode(certificate.read_text(encoding="utf-8").split()[1])


def name_of(certificate):
    return certificate.read_text(encoding="utf-8").split()[0]


def options(certificate):
    return ("-T", "-o", f"CertificateFile={certificate}")

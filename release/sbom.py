#!/usr/bin/env python3
"""The parts of the programs, as SPDX 2.3 in JSON: what was linked, statically or not, and what was compiled in.

    release/sbom.py BUILD-DIR STAGE-DIR VERSION > FILE      with SOURCE_DATE_EPOCH in the environment

Nothing is guessed: each program is linked once more with the linker telling which files it takes, the loader says which
libraries those bring along, the build's own record says which headers were read, and dpkg whose they are.
"""
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROGRAMS = ("agentbox-sshd", "agent-box", "agentbox-provision")


def output_of(*words, **arguments):
    return subprocess.run(words, capture_output=True, text=True, check=True, **arguments).stdout


class Packages:
    """Whose a file is, below ROOT."""

    def __init__(self, root=Path("/")):
        self.owner = {}
        database = root / "var/lib/dpkg"
        for listing in (database / "info").glob("*.list"):
            for path in listing.read_text(encoding="utf-8").splitlines():
                self.owner.setdefault(path, listing.stem)
        told = output_of("dpkg-query", "--admindir", str(database), "-W", "-f", "${binary:Package} ${Version} ${Architecture} ${source:Package}\n")
        self.facts = {words[0]: words[1:] for words in (line.split(" ") for line in told.splitlines())}

    def of(self, path):
        path = os.path.normpath(path)
        for name in (path, os.path.realpath(path)):
            for candidate in (name, name.removeprefix("/usr"), "/usr" + name):
                if candidate in self.owner:
                    return self.owner[candidate]
        raise SystemExit(f"sbom: no package has {path}")


def linked(build, program):
    """Archives and objects that the linker takes for PROGRAM."""
    link = output_of("ninja", "-C", build, "-t", "commands", f"bin/{program}").splitlines()[-1]
    with tempfile.TemporaryDirectory() as folder:
        again = link.replace(f" -o bin/{program} ", f" -o {folder}/program -Wl,--trace ")
        if again == link:
            raise SystemExit(f"sbom: the link of {program} is not understood: {link}")
        trace = output_of("sh", "-c", again, cwd=build)
    return set(re.findall(r"^\(?(/[^()\s]+\.[ao])\b", trace, re.MULTILINE))


def loaded(path):
    """Shared libraries that come with the program at PATH, and those that they bring along."""
    told = subprocess.run(["ldd", path], capture_output=True, text=True, check=False).stdout
    return set(re.findall(r"(/\S+\.so\S*) \(0x", told))


def headers(build, program):
    """Headers of the system's that were read for PROGRAM."""
    commands = output_of("ninja", "-C", build, "-t", "commands", f"bin/{program}")
    objects = set(re.findall(r" -o (\S+\.(?:o|gch)) ", commands))
    found, inside = set(), False
    for line in output_of("ninja", "-C", build, "-t", "deps").splitlines():
        if not line.startswith(" "):
            inside = line.split(":")[0] in objects
        elif inside and line.strip().startswith("/usr/"):
            found.add(line.strip())
    return found


def package(name, packages, distribution):
    version, architecture, source = packages.facts[name]
    plain = name.split(":")[0]
    purl = f"pkg:deb/{distribution}/{plain}@{version}?arch={architecture}".replace("+", "%2B")
    return {
        "SPDXID": spdx_id(name), "name": plain, "versionInfo": version, "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False, "licenseConcluded": "NOASSERTION", "licenseDeclared": "NOASSERTION",
        "copyrightText": "NOASSERTION", "sourceInfo": f"built from the distribution's source package {source}",
        "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}],
    }


def program_entry(name, data, version):
    return {
        "SPDXID": spdx_id(name), "name": name, "versionInfo": version, "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False, "licenseConcluded": "Apache-2.0", "licenseDeclared": "Apache-2.0",
        "copyrightText": "NOASSERTION", "primaryPackagePurpose": "APPLICATION",
        "checksums": [{"algorithm": "SHA256", "checksumValue": hashlib.sha256(data).hexdigest()}],
    }


def spdx_id(name):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)


def main(build, stage, version):
    packages = Packages()
    release = dict(re.findall(r'^(\w+)="?([^"\n]*)"?$', Path("/etc/os-release").read_text(encoding="utf-8"), re.MULTILINE))
    document, relations, used = [], [], set()
    whole = hashlib.sha256()
    for program in PROGRAMS:
        data = (stage / "bin" / program).read_bytes()
        whole.update(data)
        document.append(program_entry(program, data, version))
        groups = {
            "STATIC_LINK": {packages.of(path) for path in linked(build, program) if not path.startswith(str(build))},
            "DYNAMIC_LINK": {packages.of(path) for path in loaded(stage / "bin" / program)},
        }
        # Templates and inline functions of a header end up in the program, whatever else is linked.
        groups["CONTAINS"] = {packages.of(path) for path in headers(build, program)} - groups["STATIC_LINK"]
        for kind, names in groups.items():
            used |= names
            relations += [{"spdxElementId": spdx_id(program), "relationshipType": kind, "relatedSpdxElement": spdx_id(name)}
                          for name in sorted(names)]
    document += [package(name, packages, release["ID"]) for name in sorted(used)]
    relations += [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": spdx_id(program)}
                  for program in PROGRAMS]
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"])))
    json.dump({
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"agentbox-{version}",
        "documentNamespace": f"urn:agentbox:sbom:{version}:{whole.hexdigest()}",
        "creationInfo": {"created": created, "creators": ["Tool: agentbox-sbom"],
                         "comment": f"Built on {release.get('PRETTY_NAME', release['ID'])}"},
        "packages": document, "relationships": relations,
    }, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    if len(sys.argv) != 4:
        raise SystemExit(__doc__)
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]), sys.argv[3])

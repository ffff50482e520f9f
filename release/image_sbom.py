#!/usr/bin/env python3
"""The parts of an image, as SPDX 2.3 in JSON: the packages that its own database names, and our programs in it.

    release/image_sbom.py ROOT NAME VERSION > FILE      with SOURCE_DATE_EPOCH in the environment

ROOT is the image's files. What a program was linked from is in the release's own list (sbom.py).
"""
import hashlib
import json
import os
import re
import sys
import time
from pathlib import Path

from sbom import PROGRAMS, Packages, package, program_entry, spdx_id

PLACES = ("usr/bin", "usr/lib/agentbox")


def programs_in(root):
    return [(name, root / place / name) for place in PLACES for name in PROGRAMS if (root / place / name).is_file()]


def main(root, image, version):
    packages = Packages(root)
    release = dict(re.findall(r'^(\w+)="?([^"\n]*)"?$', (root / "etc/os-release").read_text(encoding="utf-8"), re.MULTILINE))
    parts = [program_entry(name, path.read_bytes(), version) for name, path in programs_in(root)]
    parts += [package(name, packages, release["ID"]) for name in sorted(packages.facts)]
    whole = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
    document = {
        "SPDXID": "SPDXRef-image", "name": image, "versionInfo": version, "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False, "licenseConcluded": "NOASSERTION", "licenseDeclared": "NOASSERTION",
        "copyrightText": "NOASSERTION", "primaryPackagePurpose": "CONTAINER",
    }
    relations = [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-image"}]
    relations += [{"spdxElementId": "SPDXRef-image", "relationshipType": "CONTAINS", "relatedSpdxElement": part["SPDXID"]}
                  for part in parts]
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"])))
    json.dump({
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"{image}-{version}",
        "documentNamespace": f"urn:agentbox:sbom:{image}:{version}:{whole}",
        "creationInfo": {"created": created, "creators": ["Tool: agentbox-sbom"],
                         "comment": f"Made of {release.get('PRETTY_NAME', release['ID'])}"},
        "packages": [document, *parts], "relationships": relations,
    }, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    if len(sys.argv) != 4:
        raise SystemExit(__doc__)
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])

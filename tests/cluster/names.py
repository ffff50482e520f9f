#!/usr/bin/env python3
"""The names of services for the test cluster, as a cluster's DNS answers for them: NAME.NAMESPACE.svc.cluster.local is
the service's address, or for a headless one the addresses of its pods that are ready, and POD.NAME.NAMESPACE... one."""
import socket
import struct

import node
from api import Api, Resource, Watched

SERVICES = Resource("v1", "services", "Service")
SLICES = Resource("discovery.k8s.io/v1", "endpointslices", "EndpointSlice")
TTL = 5
NO_SUCH_NAME = 3


class Names:
    def __init__(self):
        api = Api()
        self.services = Watched(api, SERVICES, lambda _: None)
        self.slices = Watched(api, SLICES, lambda _: None)

    def addresses(self, name):
        """The IPv4 addresses of a name; None where there is no such name."""
        end = f".svc.{node.DOMAIN}"
        words = name[:-len(end)].split(".") if name.endswith(end) else []
        service = self.services.get(words[-1], words[-2]) if len(words) in (2, 3) else None
        if service is None:
            return None
        if service["spec"].get("clusterIP") not in (None, "None"):
            return [service["spec"]["clusterIP"]]
        found = [
            address
            for each in self.slices.all()
            if each["metadata"]["namespace"] == words[-1]
            and each["metadata"].get("labels", {}).get("kubernetes.io/service-name") == words[-2]
            for endpoint in each.get("endpoints") or []
            if endpoint.get("conditions", {}).get("ready") is not False
            and (len(words) == 2 or endpoint.get("hostname") == words[0])
            for address in endpoint["addresses"]
        ]
        return found or None

    def answer(self, question):
        number, flags, count = struct.unpack(">HHH", question[:6])
        labels, at = [], 12
        while question[at]:
            labels.append(question[at + 1:at + 1 + question[at]].decode("ascii", "replace"))
            at += 1 + question[at]
        kind = struct.unpack(">H", question[at + 1:at + 3])[0]
        asked = question[12:at + 5]
        found = self.addresses(".".join(labels).lower()) if count == 1 else None
        records = [b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, TTL, 4) + socket.inet_aton(address)
                   for address in found or [] if kind == 1]
        code = NO_SUCH_NAME if found is None else 0
        head = struct.pack(">HHHHHH", number, 0x8480 | (flags & 0x100) | code, 1, len(records), 0, 0)
        return head + asked + b"".join(records)


def main():
    names = Names()
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind((node.NODE_ADDRESS, 53))
    while True:
        question, client = server.recvfrom(1500)
        try:
            answer = names.answer(question)
        except (IndexError, struct.error):
            continue
        server.sendto(answer, client)


if __name__ == "__main__":
    main()

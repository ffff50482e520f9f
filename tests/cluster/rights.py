"""Operators with no more rights than a Role gives them."""
import copy
import json

import node
from api import Resource
from cluster import kubectl
from kit.box import ok

ACCOUNTS = Resource("v1", "serviceaccounts", "ServiceAccount")


class Operator:
    """An account of NAMESPACE with ROLE (the JSON of one), and a kubeconfig that logs in as it."""

    def __init__(self, namespace, name, role):
        self.namespace = namespace
        self.name = name
        self.role_name = name
        namespace.api.create(ACCOUNTS, {"metadata": {"name": name, "namespace": namespace.name}})
        namespace.apply({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": name},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace.name}],
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name}})
        self.give(role)
        token = ok(kubectl("-n", namespace.name, "create", "token", name)).stdout.decode().strip()
        self.kubeconfig = kubeconfig(namespace.folder / f"{name}.kubeconfig", token)

    def give(self, role):
        role = copy.deepcopy(role)
        role["metadata"] = {"name": self.role_name, "namespace": self.namespace.name}
        self.namespace.apply(role)


def kubeconfig(path, token, server=None):
    node.write_kubeconfig(path, {"token": token})
    if server:
        value = json.loads(path.read_text())
        value["clusters"][0]["cluster"]["server"] = server
        path.write_text(json.dumps(value))
    return path


def single_rights(role):
    """(group, resource, verb) of each right."""
    return [(group, resource, verb) for rule in role["rules"] for group in rule["apiGroups"]
            for resource in rule["resources"] for verb in rule["verbs"]]


def without(role, right):
    """ROLE less one right."""
    less = copy.deepcopy(role)
    less["rules"] = [{"apiGroups": [group], "resources": [resource], "verbs": [verb]}
                     for group, resource, verb in single_rights(role) if (group, resource, verb) != right]
    return less


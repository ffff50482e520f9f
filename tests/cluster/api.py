"""The little of a Kubernetes client that the parts of the test cluster need, with Python's own library."""
import http.client
import json
import os
import queue
import ssl
import threading
import time
import urllib.parse


class Refused(Exception):
    """What the API server answered instead."""

    def __init__(self, code, status):
        super().__init__(f"{code}: {status.get('message', status)}")
        self.code = code
        self.reason = status.get("reason")


class Resource:
    """A kind of object: `v1` or `group/version`, its plural, its kind."""

    def __init__(self, group_version, plural, kind, namespaced=True):
        self.group_version = group_version
        self.plural = plural
        self.kind = kind
        self.namespaced = namespaced

    def path(self, namespace=None, name=None, part=None):
        words = ["api" if "/" not in self.group_version else "apis", self.group_version]
        if namespace:
            words += ["namespaces", namespace]
        words += [self.plural, *(word for word in (name, part) if word)]
        return "/" + "/".join(words)


class Api:
    def __init__(self, kubeconfig=None):
        with open(kubeconfig or os.environ["KUBECONFIG"], encoding="utf-8") as file:
            config = json.load(file)
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self._address = urllib.parse.urlsplit(cluster["server"]).netloc
        self._tls = ssl.create_default_context(cafile=cluster["certificate-authority"])
        self._tls.load_cert_chain(user["client-certificate"], user["client-key"])
        self._local = threading.local()

    def connect(self, seconds):
        return http.client.HTTPSConnection(self._address, context=self._tls, timeout=seconds)

    def request(self, method, path, body=None, kind="application/json"):
        """The object that is answered; Refused, or OSError where nobody answers."""
        text = None if body is None else json.dumps(body)
        for last in (False, True):
            connection = getattr(self._local, "connection", None)
            fresh = connection is None
            if fresh:
                connection = self._local.connection = self.connect(20)
            try:
                connection.request(method, path, text, {"Content-Type": kind, "Accept": "application/json"})
                response = connection.getresponse()
                data = response.read()
                is_json = response.headers.get_content_type() == "application/json"
                answer = json.loads(data) if is_json else {"message": data.decode(errors="replace").strip()}
                break
            except (OSError, http.client.HTTPException, ValueError) as error:
                connection.close()
                self._local.connection = None
                if last or fresh:
                    raise OSError(f"{method} {path}: {error!r}") from error
        if response.status >= 400:
            raise Refused(response.status, answer)
        return answer

    def get(self, resource, namespace, name):
        """The object, or None."""
        try:
            return self.request("GET", resource.path(namespace, name))
        except Refused as refused:
            if refused.code == 404:
                return None
            raise

    def create(self, resource, value):
        value = {"apiVersion": resource.group_version, "kind": resource.kind, **value}
        return self.request("POST", resource.path(value["metadata"].get("namespace")), value)

    def merge(self, resource, namespace, name, patch, part=None):
        return self.request("PATCH", resource.path(namespace, name, part), patch, "application/merge-patch+json")

    def delete(self, resource, namespace, name, uid=None):
        """Whether it was there."""
        options = {"propagationPolicy": "Background"}
        if uid:
            options["preconditions"] = {"uid": uid}
        try:
            self.request("DELETE", resource.path(namespace, name), options)
            return True
        except Refused as refused:
            if refused.code == 404:
                return False
            raise


class Watched:
    """All objects of one kind as they were last heard of, kept current by a thread of its own."""

    def __init__(self, api, resource, heard):
        """HEARD(object) is told of each that comes, changes or goes."""
        self._api = api
        self.resource = resource
        self._heard = heard
        self._lock = threading.Lock()
        self._objects = {}
        self.listed = threading.Event()
        threading.Thread(target=self._follow, daemon=True).start()

    def get(self, namespace, name):
        with self._lock:
            return self._objects.get((namespace, name))

    def all(self):
        with self._lock:
            return list(self._objects.values())

    def keep(self, value):
        """An answer to a change of ours, which the watch may bring later."""
        with self._lock:
            key = _key(value)
            known = self._objects.get(key)
            if known is None or _version(known) < _version(value):
                self._objects[key] = value

    def _follow(self):
        while True:
            try:
                self._watch(self._list())
            except (OSError, Refused, http.client.HTTPException, ValueError, KeyError) as error:
                print(f"watch of {self.resource.plural}: {error!r}", flush=True)
                time.sleep(0.5)

    def _list(self):
        answer = self._api.request("GET", self.resource.path())
        found = {}
        for item in answer["items"]:
            item.setdefault("apiVersion", self.resource.group_version)
            item.setdefault("kind", self.resource.kind)
            found[_key(item)] = item
        with self._lock:
            told = list(found.values()) + [each for key, each in self._objects.items() if key not in found]
            self._objects = found
        self.listed.set()
        for each in told:
            self._heard(each)
        return answer["metadata"]["resourceVersion"]

    def _watch(self, version):
        connection = self._api.connect(90)
        try:
            connection.request("GET", self.resource.path() + "?" + urllib.parse.urlencode(
                {"watch": 1, "resourceVersion": version, "allowWatchBookmarks": "true", "timeoutSeconds": 60}))
            response = connection.getresponse()
            if response.status != 200:
                raise OSError(f"answered {response.status}")
            for line in response:
                event = json.loads(line)
                value = event["object"]
                if event["type"] == "ERROR":
                    raise OSError(value.get("message"))
                if event["type"] == "BOOKMARK":
                    continue
                with self._lock:
                    if event["type"] == "DELETED":
                        self._objects.pop(_key(value), None)
                    elif _version(self._objects.get(_key(value), {})) <= _version(value):
                        self._objects[_key(value)] = value
                self._heard(value)
        finally:
            connection.close()


def _key(value):
    return value["metadata"].get("namespace"), value["metadata"]["name"]


def _version(value):
    return int(value.get("metadata", {}).get("resourceVersion", 0))


class Work:
    """Names of what is to be looked at, each once however often it is asked for, some of them later."""

    def __init__(self, handle, workers=4):
        self._handle = handle
        self._queue = queue.Queue()
        self._lock = threading.Lock()
        self._waiting = set()
        self._busy = set()
        for _ in range(workers):
            threading.Thread(target=self._serve, daemon=True).start()

    def add(self, key):
        with self._lock:
            if key in self._waiting:
                return
            self._waiting.add(key)
        self._queue.put(key)

    def add_later(self, key, seconds):
        timer = threading.Timer(max(seconds, 0), self.add, [key])
        timer.daemon = True
        timer.start()

    def _serve(self):
        while True:
            key = self._queue.get()
            with self._lock:
                if key in self._busy:  # one at a time for each name
                    self._waiting.discard(key)
                    busy = True
                else:
                    self._waiting.discard(key)
                    self._busy.add(key)
                    busy = False
            if busy:
                self.add_later(key, 0.02)
                continue
            try:
                self._handle(key)
            except (OSError, Refused) as error:
                conflict = isinstance(error, Refused) and error.code == 409
                if not conflict:
                    print(f"{key}: {error}", flush=True)
                self.add_later(key, 0.05 if conflict else 1)
            finally:
                with self._lock:
                    self._busy.discard(key)

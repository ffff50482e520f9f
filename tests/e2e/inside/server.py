"""A development server: answers on a port of its own, and all it prints is also in server.log, numbered, to the byte."""
import hashlib
import signal
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

said = hashlib.sha256()
lock = threading.Lock()
over = threading.Event()
log = open("server.log", "ab", buffering=0)


def say(words):
    line = f"{words}\n".encode()
    with lock:
        said.update(line)
        log.write(line)
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        say(f"request {self.path}")
        self.send_response(200)
        self.end_headers()
        self.wfile.write(f"you asked for {self.path}".encode())

    def log_message(self, *_):
        pass


server = HTTPServer(("127.0.0.1", 0), Handler)
signal.signal(signal.SIGTERM, lambda *_: over.set())
threading.Thread(target=server.serve_forever, daemon=True).start()
say(f"listening on {server.server_port}")
number = 0
while not over.wait(0.002):
    number += 1
    say(f"tick {number}: grüße")
server.shutdown()
say(f"stopped after {number}")
with open("server.sha256", "w", encoding="ascii") as file:
    file.write(said.hexdigest())

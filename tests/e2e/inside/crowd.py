"""Runs inside a box: holds COUNT silent connections to the door's PORT, says so, and waits for its end.

crowd.py PORT COUNT FILE
"""
import socket
import sys
import time

held = []
for _ in range(int(sys.argv[2])):
    try:
        held.append(socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5))
    except OSError:
        pass
with open(sys.argv[3], "w", encoding="utf-8") as file:
    file.write(f"{len(held)}\n")
time.sleep(600)

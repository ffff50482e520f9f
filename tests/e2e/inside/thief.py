"""Runs inside a box: tries to bind the door's PORT again and again until FILE is there; prints how often it could.

thief.py PORT FILE
"""
import os
import socket
import sys

taken = tries = 0
while not os.path.exists(sys.argv[2]):
    for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
        with socket.socket(family) as thief:
            thief.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            try:
                thief.bind((address, int(sys.argv[1])))
                thief.listen()
                taken += 1
            except OSError:
                tries += 1
print(taken, tries > 0)

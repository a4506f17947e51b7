#!/usr/bin/env python3
"""Writes what has changed in repositories since a revision, or all of it: one process answers for all repositories.

    python3 batch_client.py <base> <revision> <repository>...
"""
import os, subprocess, sys

NO_BASE, TOO_MANY_CHANGES = 3, 5


class Batch:
    def __init__(self):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process = subprocess.Popen(["git-sluice", "--batch"], **pipes)

    def ask(self, output, *words):
        """Writes the answer to `output`. Returns the exit status."""
        packets = [b"argument " + os.fsencode(word) for word in words]
        request = b"".join(b"%04x%b" % (len(packet) + 4, packet) for packet in packets)
        self.process.stdin.write(request + b"0000")
        self.process.stdin.flush()
        agreement = self.packet()
        if agreement != b"ACK\n" or self.packet():
            raise ValueError(agreement)
        status = 0
        while packet := self.packet():
            if packet[0] == 1:
                output.write(packet[1:])
            elif packet[0] == 2:
                sys.stderr.buffer.write(packet[1:])
            else:
                status = int(packet[1:].removeprefix(b"status "))
        return status

    def packet(self):
        """The next packet; None for a flush."""
        size = int(self.process.stdout.read(4), 16)
        return self.process.stdout.read(size - 4) if size else None


if __name__ == "__main__":
    base, revision, *repositories = sys.argv[1:]
    batch = Batch()
    for repository in repositories:
        with open(os.path.basename(repository) + ".tar", "wb") as archive:
            status = batch.ask(archive, "-C", repository, "--base=" + base, revision)
            if status in (NO_BASE, TOO_MANY_CHANGES):
                status = batch.ask(archive, "-C", repository, revision)
        print(repository, status)

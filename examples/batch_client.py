#!/usr/bin/env python3
"""Writes what has changed in repositories since a revision, or all of it, and a manifest: one process answers for all.

    python3 batch_client.py <base> <revision> <repository>...
"""
import os, subprocess, sys

NO_BASE, TOO_MANY_CHANGES = 3, 5
ARCHIVE, MESSAGES, STATUS, MANIFEST = 1, 2, 3, 4


class Batch:
    def __init__(self):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process = subprocess.Popen(["git-sluice", "batch"], **pipes)

    def ask(self, outputs, *words):
        """Writes each band of the answer to its file in `outputs`. Returns the exit status."""
        packets = [b"argument %b\n" % os.fsencode(word) for word in words]
        request = b"".join(b"%04x%b" % (len(packet) + 4, packet) for packet in packets)
        self.process.stdin.write(request + b"0000")
        self.process.stdin.flush()
        agreement, _flush = self.packet(), self.packet()
        if agreement != b"ACK\n":
            raise ValueError(agreement)
        status = 0
        while packet := self.packet():
            band, content = packet[0], packet[1:]
            if band == STATUS:
                status = int(content.removeprefix(b"status "))
            else:
                outputs[band].write(content)
        return status

    def packet(self):
        """The next packet; None for a flush."""
        size = int(self.process.stdout.read(4), 16)
        return self.process.stdout.read(size - 4) if size else None


def write(batch, repository, *words):
    """Writes archive and manifest of a repository to files that get their names when both are complete. Returns the
    exit status."""
    files = [os.path.basename(repository) + kind for kind in (".tar", ".jsonl")]
    parts = [file + ".part" for file in files]
    with open(parts[0], "wb") as archive, open(parts[1], "wb") as manifest:
        outputs = {ARCHIVE: archive, MESSAGES: sys.stderr.buffer, MANIFEST: manifest}
        status = batch.ask(outputs, "-C", repository, "archive", "--manifest=band:4", *words)
    for part, file in zip(parts, files):
        os.remove(part) if status else os.replace(part, file)
    return status


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    base, revision, *repositories = sys.argv[1:]
    batch, failed = Batch(), False
    for repository in repositories:
        status = write(batch, repository, "--base=" + base, "--max-changed-ratio=0.5", revision)
        if status in (NO_BASE, TOO_MANY_CHANGES):
            status = write(batch, repository, revision)
        print(repository, status)
        failed |= status != 0
    sys.exit(failed)

#!/usr/bin/env python3
"""Serves archives of a repository over HTTP: GET and HEAD of /<name>.tar, /<name>.tar.gz, /<name>.zip.

    python3 archive_server.py <repository> <directory of shared archives> [<port>]
"""
import json, re, subprocess, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

REPOSITORY, CACHE = sys.argv[1:3]
PIECE = 1 << 16


def sluice(command, *options):
    words = ["git-sluice", command, f"--cache={CACHE}", "--cache-jobs=4", "--cache-wait=5", *options]
    return subprocess.Popen(words, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


class Archives(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        asked = re.fullmatch(r"/(\w[\w./-]*?)\.(tar|tar\.gz|zip)", self.path)
        options = asked and [f"--format={asked[2]}", f"--prefix={asked[1].replace('/', '-')}/"]
        head = asked and sluice("info", *options, asked[1]).communicate()[0]
        if not head:
            return self.answer(404)
        head = json.loads(head)
        options.append(head.get("commit", head["tree"]))  # A branch may move meanwhile.
        tag, length = head["etag"], head["content_length"]
        if tag and tag in re.findall(r'"[^"]*"', self.headers.get("If-None-Match", "")):
            return self.answer(304, ETag=tag)
        status, headers = 200, {"Content-Type": head["media_type"], "ETag": tag, "Accept-Ranges": "bytes"}
        wanted = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
        if wanted and any(wanted.groups()) and length and self.headers.get("If-Range", tag) == tag:
            first = int(wanted[1]) if wanted[1] else max(0, length - int(wanted[2]))
            last = min(int(wanted[2]), length - 1) if all(wanted.groups()) else length - 1
            if first > last:
                return self.answer(416, Content_Range=f"bytes */{length}")
            status, headers["Content-Range"] = 206, f"bytes {first}-{last}/{length}"
            options, length = [f"--byte-range={first}-{last}", *options], last - first + 1
        if self.command == "HEAD":
            return self.answer(status, length, **headers)
        with sluice("archive", *options) as archive:
            piece = archive.stdout.read(PIECE)
            if not piece:  # Status 6: too many archives are being made.
                return self.answer(503 if archive.wait() == 6 else 500, Retry_After="5")
            self.answer(status, length, **headers)
            while piece:
                self.wfile.write(piece if length else b"%x\r\n%b\r\n" % (len(piece), piece))
                piece = archive.stdout.read(PIECE)
        if archive.returncode:  # No client may take the part for the whole.
            self.close_connection = True
        elif not length:
            self.wfile.write(b"0\r\n\r\n")

    do_HEAD = do_GET

    def answer(self, status, length=0, **headers):
        self.send_response(status)
        coding = {"Transfer-Encoding": "chunked"} if length is None else {"Content-Length": length}
        for name, value in {**headers, **coding}.items():
            if value is not None:
                self.send_header(name.replace("_", "-"), value)
        self.end_headers()


if __name__ == "__main__":
    port = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    server = ThreadingHTTPServer(("127.0.0.1", port), Archives)
    print(server.server_address[1], flush=True)
    server.serve_forever()

#!/usr/bin/env python3
"""Serves archives of a repository over HTTP: GET and HEAD of /<name>.tar, /<name>.tar.gz, /<name>.zip.

    python3 archive_server.py <repository> <directory of shared archives> [<port>]
"""
import json, re, subprocess, sys
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

if len(sys.argv) < 3:
    sys.exit(__doc__)
REPOSITORY, CACHE = sys.argv[1:3]
SHARED = [f"--cache={CACHE}", "--cache-finish", "--cache-jobs=4", "--cache-wait=5"]
PIECE = 1 << 16
FAILURES = {6: 503, 13: 413}  # Too many archives are being created; the archive is over a limit.


def sluice(command, *options):
    words = ["git-sluice", command, *SHARED, *options]
    return subprocess.Popen(words, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


def describe(*options):
    line = sluice("info", *options).communicate()[0]
    return json.loads(line) if line else None


class Archives(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        path = unquote(urlsplit(self.path).path)
        asked = re.fullmatch(r"/(\w[\w./-]*?)\.(tar|tar\.gz|zip)", path, re.ASCII)
        options = asked and [f"--format={asked[2]}", f"--prefix={asked[1].replace('/', '-')}/"]
        head = asked and describe(*options, asked[1])
        if not head:
            return self.answer(404)
        options.append(head.get("commit", head["tree"]))  # A branch may move meanwhile.
        tag, length = head["etag"], head["content_length"]
        headers = {"ETag": tag, "Last-Modified": formatdate(head["time"], usegmt=True)}
        if self.has(tag):
            return self.answer(304, headers=headers)
        headers["Content-Type"] = head["media_type"]
        headers["Content-Disposition"] = f'attachment; filename="{head["file_name"]}"'
        status, wanted = 200, tag and self.wanted(tag)
        if wanted and length is None:
            # The first range of a compressed archive completes the archive in the cache.
            whole = sluice("archive", "--byte-range=0-0", *options)
            whole.communicate()
            if whole.returncode in FAILURES:
                return self.refuse(whole.returncode)
            length = (describe(*options) or head)["content_length"]
        # Without a tag, another request may get other bytes. Without a length, the archive does not fit into the cache.
        headers["Accept-Ranges"] = "bytes" if tag and not (wanted and length is None) else "none"
        if wanted and length is not None:
            first = int(wanted[1]) if wanted[1] else max(0, length - int(wanted[2]))
            last = min(int(wanted[2]), length - 1) if wanted[1] and wanted[2] else length - 1
            if first > last:
                return self.answer(416, headers={"Content-Range": f"bytes */{length}"})
            status, headers["Content-Range"] = 206, f"bytes {first}-{last}/{length}"
            options, length = [f"--byte-range={first}-{last}", *options], last - first + 1
        if self.command == "HEAD":
            return self.answer(status, length, headers)
        with sluice("archive", *options) as archive:
            piece = archive.stdout.read(PIECE)
            if not piece:
                return self.refuse(archive.wait())
            chunked = self.answer(status, length, headers)
            while piece:
                self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece) if chunked else piece)
                piece = archive.stdout.read(PIECE)
        if archive.returncode:  # No client may take the part for the whole.
            self.close_connection = True
        elif chunked:
            self.wfile.write(b"0\r\n\r\n")

    do_HEAD = do_GET

    def has(self, tag):
        known = self.headers.get("If-None-Match", "")
        return known.strip() == "*" or tag in re.findall(r'"[^"]*"', known)

    def wanted(self, tag):
        wanted = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""), re.ASCII)
        valid = wanted and any(wanted.groups()) and int(wanted[1] or 0) <= int(wanted[2] or wanted[1])
        return wanted if valid and self.command == "GET" and self.headers.get("If-Range", tag) == tag else None

    def refuse(self, exit_status):
        status = FAILURES.get(exit_status, 500)
        self.answer(status, headers={"Retry-After": 5 if status == 503 else None})

    def answer(self, status, length=0, headers={}):
        """Sends the head of an answer. Returns whether the body is sent in chunks, which HTTP/1.0 does not have."""
        chunked = length is None and self.request_version != "HTTP/1.0"
        unknown = {"Transfer-Encoding": "chunked"} if chunked else {"Connection": "close"}
        coding = unknown if length is None else {"Content-Length": None if status == 304 else length}
        self.send_response(status)
        for name, value in {**headers, **coding}.items():
            if value is not None:
                self.send_header(name, value)
        self.end_headers()
        return chunked


class Server(ThreadingHTTPServer):
    request_queue_size = 128

    def handle_error(self, request, address):
        if not isinstance(sys.exc_info()[1], ConnectionError):  # A client may hang up at any time.
            super().handle_error(request, address)


if __name__ == "__main__":
    server = Server(("127.0.0.1", int(sys.argv[3]) if len(sys.argv) > 3 else 0), Archives)
    print(server.server_address[1], flush=True)
    server.serve_forever()

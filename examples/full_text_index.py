#!/usr/bin/env python3
"""Keeps a full-text index of repositories in SQLite, and searches it. Each run reads only what changed since the last one.

    python3 full_text_index.py <database> <words> <repository>...
"""
import base64, io, json, os, sqlite3, sys, tarfile
from batch_client import ARCHIVE, MANIFEST, MESSAGES, NO_BASE, TOO_MANY_CHANGES, Batch

FILTERS = ["--no-attributes", "--max-size=1m", "--binary=omit", "--symlinks=file", "--submodules=omit"]
SCHEMA = """
create table if not exists repositories (name text primary key, indexed text, filters text);
create table if not exists files (id integer primary key, repository text, path blob, unique (repository, path));
create virtual table if not exists contents using fts5 (content);
"""


def ask(batch, repository, *since):
    """Returns the exit status, the archive, and the lines of the manifest."""
    archive, manifest = io.BytesIO(), io.BytesIO()
    outputs = {ARCHIVE: archive, MESSAGES: io.BytesIO(), MANIFEST: manifest}
    status = batch.ask(outputs, "-C", repository, "archive", "--manifest=band:4", *FILTERS, *since, "HEAD")
    if status not in (0, NO_BASE, TOO_MANY_CHANGES):
        sys.stderr.buffer.write(outputs[MESSAGES].getvalue())
    archive.seek(0)
    return status, archive, [json.loads(line) for line in manifest.getvalue().splitlines()]


def remove(database, repository, condition="", *values):
    chosen = "from files where repository = ? " + condition
    database.execute("delete from contents where rowid in (select id %s)" % chosen, [repository, *values])
    database.execute("delete " + chosen, [repository, *values])


def update(database, batch, repository):
    """Brings the index up to date, or leaves it as it is if anything fails. Returns the exit status."""
    known = database.execute("select indexed, filters from repositories where name = ?", [repository]).fetchone()
    since = ["--base=%s" % known[0], "--base-filters=%s" % known[1], "--max-changed-ratio=0.5"] if known else []
    status, archive, lines = ask(batch, repository, *since)
    if since and status in (NO_BASE, TOO_MANY_CHANGES):
        since = []
        status, archive, lines = ask(batch, repository)
    if status:
        return status
    header, *entries, _end = lines
    with database:
        if not since:
            remove(database, repository)
        for entry in entries if since else []:
            remove(database, repository, "and path = ?", path_of(entry))
        # Python cannot open a delta without files.
        if any(entry.get("disposition") == "content" for entry in entries):
            add(database, repository, tarfile.open(fileobj=archive))
        row = [repository, header["commit"], header["filters"]]
        database.execute("insert or replace into repositories values (?, ?, ?)", row)
    print("%s: %d lines since %s" % (repository, len(entries), known[0] if since else "the beginning"), file=sys.stderr)
    return 0


def path_of(entry):
    return base64.b64decode(entry["path_base64"]) if "path_base64" in entry else entry["path"].encode()


def add(database, repository, archive):
    for file in filter(tarfile.TarInfo.isfile, archive):
        path, content = os.fsencode(file.name), archive.extractfile(file).read().decode(errors="replace")
        number = database.execute("insert into files (repository, path) values (?, ?)", [repository, path]).lastrowid
        database.execute("insert into contents (rowid, content) values (?, ?)", [number, content])


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    name, words, *repositories = sys.argv[1:]
    database, batch = sqlite3.connect(name), Batch()
    database.executescript(SCHEMA)
    failed = any([update(database, batch, repository) for repository in repositories])
    query = "select repository, path from contents join files on id = contents.rowid where contents match ? order by 1, 2"
    for repository, path in database.execute(query, [words]):
        print(repository, os.fsdecode(path))
    sys.exit(failed)

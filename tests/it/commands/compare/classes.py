"""Classes of the entries of a tar, worked out with tarfile and git ls-tree, and compared with what git-sluice says.

classes.py <git-sluice> <archive> <commit> <prefix>, in the repository. Prints the number of entries of each class; fails if one
is in another class.
"""

import collections
import hashlib
import io
import json
import subprocess
import sys
import tarfile


def blob_id(content):
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def entries(tar, prefix):
    """The last entry of each path, and the paths that occur again."""
    found, counts, whole = {}, collections.Counter(), {}
    for member in tar:
        name = member.name.rstrip("/")
        if prefix and not (name + "/").startswith(prefix):
            sys.exit(f"{name} is outside of {prefix}")
        path = name[len(prefix):]
        if not path:
            continue
        if member.issym():
            entry = ("link", blob_id(member.linkname.encode("utf8", "surrogateescape")), False)
        elif member.islnk():
            kind, content, _ = whole[member.linkname]
            entry = (kind, content, bool(member.mode & 0o100))
        elif member.isdir():
            entry = ("dir", None, False)
        else:
            entry = ("file", blob_id(tar.extractfile(member).read()), bool(member.mode & 0o100))
        found[path] = whole[member.name] = entry
        counts[path] += 1
    return found, {path for path, count in counts.items() if count > 1}


def tree(commit):
    """The files of a commit."""
    listed = subprocess.run(["git", "ls-tree", "-r", "-z", commit], check=True, capture_output=True).stdout
    files = {}
    for line in listed.split(b"\0")[:-1]:
        facts, path = line.split(b"\t", 1)
        mode, _, content = facts.decode().split()
        kind = {"120000": "link", "160000": "dir"}.get(mode, "file")
        content = None if kind == "dir" else content
        files[path.decode("utf8", "surrogateescape")] = (kind, content, mode == "100755")
    return files


def classes(archive, commit, prefix):
    found, again = entries(tarfile.open(archive), prefix)
    command = subprocess.run(["git", "archive", "--format=tar", commit], check=True, capture_output=True)
    written, _ = entries(tarfile.open(fileobj=io.BytesIO(command.stdout)), "")
    stored = tree(commit)
    above = {path[:at] for path in list(stored) + list(found) for at, c in enumerate(path) if c == "/"}
    expected = {}
    for path, entry in found.items():
        kind, content, is_executable = entry
        if path not in stored:
            if kind != "dir" or path not in above:
                expected[path] = "added"
            continue
        if kind == "dir" and stored[path][0] == "dir":
            continue
        if kind != stored[path][0]:
            expected[path] = "type"
        elif content == written.get(path, (0, 0, 0))[1]:
            expected[path] = "same" if is_executable == stored[path][2] else "mode"
        elif content == stored[path][1]:
            expected[path] = "as-stored" if is_executable == stored[path][2] else "mode"
        else:
            expected[path] = "changed"
    for path in stored:
        if path not in found:
            expected[path] = "missing" if path in written else "missing, expected"
    return expected, again


def main():
    sluice, archive, commit, prefix = sys.argv[1:]
    expected, again = classes(archive, commit, prefix)
    said = subprocess.run([sluice, "compare", "--json", "-v", archive, commit], capture_output=True)
    lines = [json.loads(line) for line in said.stdout.splitlines()]
    found, twice = {}, set()
    for line in lines[:-1]:
        path = line.get("path")
        if line["class"] == "twice":
            twice.add(path)
        elif path:
            is_expected = line["class"] == "missing" and not line["difference"]
            found[path] = "missing, expected" if is_expected else line["class"]
    wrong = {path for path in expected.keys() | found.keys() if expected.get(path) != found.get(path)}
    for path in sorted(wrong)[:20]:
        print(f"{path}: {found.get(path)}, should be {expected.get(path)}")
    print(archive.rsplit("/", 1)[-1], dict(collections.Counter(expected.values())), lines[-1]["result"], lines[-1].get("command", lines[-1].get("bytes")))
    sys.exit(1 if wrong or twice != again or not lines else 0)


main()

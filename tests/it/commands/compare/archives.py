"""Mutates archives, and judges them by the readers that are installed.

archives.py mutate <archives> <first> <count> <out>   writes a mutation for each number
archives.py judge <tree> <archives> <programs>        prints `<archive> <reader>` if the reader wrote another tree without an error
"""

import bz2
import gzip
import lzma
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
import zipfile
import zlib

NOBODY = 65534
TYPES = b"0\x00152xgLKSVXD7346"
KEYS = [b"path=p/a.txt", b"path=p/new", b"path=p/run/", b"linkpath=run", b"size=0", b"size=4", b"size=512", b"mtime=1",
        b"comment=c", b"GNU.sparse.name=p/new", b"GNU.sparse.realsize=3", b"GNU.sparse.major=1", b"GNU.sparse.minor=0",
        b"GNU.sparse.size=9", b"GNU.sparse.map=0,1", b"GNU.sparse.numblocks=1", b"SCHILY.realsize=9", b"hdrcharset=BINARY",
        b"GITSLUICE.size=1", b"uid=1", b"LIBARCHIVE.xattr.a=b", b"SCHILY.acl.access=x", b"path=", b"size=x", b"SCHILY.xattr.user.a=b", b"comment=c\0",
        b"SCHILY.xattr.com.apple.provenance=\1\0", b"SCHILY.xattr.user.a=\0",
        b"path=p/link/.", b"path=p/src/../a.txt", b"uname=\n24 GNU.sparse.offset=3"]
NAMES = [b"p/link/a.txt", b"./p/a.txt", b"/p/a.txt", b"../p/a.txt", b"p/src/../a.txt", b"p//a.txt", b"p/a.txt/.", b"p/run/", b"p\\a.txt", b"p/RUN", b"p/new"]
# How files of other formats begin.
BEGINNINGS = [b"\x1f\x8b\x08", b"\x1f\x9d", b"BZh9", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd", b"\x04\x22\x4d\x18", b"LZIP\x01", b"PK\3\4", b"PK\5\6", b"7z\xbc\xaf\x27\x1c",
              b"!<arch>\n", b"070701", b"\xc7\x71", b"begin 644 a\n", b"#mtree", b"WARC/1.0\r\n", b"Rar!\x1a\x07", b"MSCF", b"xar!", b"\xed\xab\xee\xdb"]
MAGICS = [b"ustar\x0000", b"ustar  \0", b"\0" * 8, b"ustar\0\0\0", b"USTAR\x0000"]


def seal(tar, at):
    tar[at + 148:at + 156] = b" " * 8
    tar[at + 148:at + 156] = b"%06o\0 " % sum(tar[at:at + 512])


def header(flag, name, size, magic=b"ustar\x0000", link=b"", mode=0o644):
    block = bytearray(512)
    block[:len(name)] = name
    block[157:157 + len(link)] = link
    block[100:108] = b"%07o\0" % mode
    block[108:124] = b"0000000\0" * 2
    block[124:136] = b"%011o\0" % size
    block[136:148] = b"%011o\0" % 1
    block[156:157] = flag
    block[257:265] = magic
    seal(block, 0)
    return bytes(block)


def padded(data):
    return data + b"\0" * (-len(data) % 512)


def record(text):
    size = len(text) + 3
    size += len(str(size))
    size = len(text) + 2 + len(str(size))
    return b"%d %s\n" % (size, text)


def pax(numbers, flag):
    data = b"".join(record(numbers.choice(KEYS)) for _ in range(numbers.randint(1, 3)))
    return header(flag, b"PaxHeader", len(data)) + padded(data)


def headers(tar):
    at, found = 0, []
    while at + 512 <= len(tar) and tar[at]:
        digits = bytes(tar[at + 124:at + 136]).strip(b" \0")
        size = int(digits, 8) if re.fullmatch(b"[0-7]+", digits) else 0
        found.append((at, at + 512 + size + -size % 512))
        at = found[-1][1]
    return found


def mutated_tar(tar, numbers):
    tar = bytearray(tar)
    found = headers(tar)
    (at, end), (other, _) = numbers.choice(found), numbers.choice(found)
    what = numbers.randrange(16)
    if what == 0:
        tar[at + numbers.randrange(512)] ^= 1 << numbers.randrange(8)
    elif what == 1:
        tar[at + numbers.randrange(512)] = numbers.choice(b"\0 0178/x\x80\xff")
    elif what == 2:
        tar[at + 156] = numbers.choice(TYPES)
    elif what == 3:
        size = numbers.choice([0, 1, 4, 512, 1024, 0o77777777777])
        tar[at + 124:at + 136] = numbers.choice([b"%011o\0", b"%012o", b"%11o ", b"%10o \0"]) % size
    elif what == 4:
        tar[at + 257:at + 265] = numbers.choice(MAGICS)
    elif what == 5:
        tar[at:at] = pax(numbers, numbers.choice([b"x", b"g", b"X"]))
    elif what == 6:
        name = numbers.choice([b"p/a.txt", b"p/new", b"p/src/", b"p/link"]) + numbers.choice([b"\0", b"", b"\0x"])
        tar[at:at] = header(numbers.choice([b"L", b"K"]), b"././@LongLink", len(name), b"ustar  \0") + padded(name)
    elif what == 7:
        tar[other:other] = tar[at:end]
    elif what == 8:
        del tar[at:end]
    elif what == 9:
        part = tar[at:end]
        del tar[at:end]
        other = min(other, len(tar))
        tar[other:other] = part
    elif what == 10:
        field, value = numbers.choice([(0, b"p/new"), (345, b"q"), (157, b"p/a.txt"), (476, b"%011o " % 1), (508, b"tar\0")])
        tar[at + field:at + field + len(value)] = value
    elif what == 11:
        name = numbers.choice([b"p/new", b"new"])
        tar[at:at] = header(bytes([numbers.choice(TYPES)]), name, 0, numbers.choice(MAGICS))
    elif what == 12:
        link = numbers.choice([b"p/a.txt", b"p/run", b"p/src/c", *NAMES])
        mode = numbers.choice([0o644, 0o755, 0o600, 0o4755])
        tar[at:at] = header(b"1", numbers.choice([b"p/a.txt", b"p/run", *NAMES]), 0, numbers.choice(MAGICS), link, mode)
    elif what == 13:
        name = numbers.choice(NAMES)
        tar[at:at + 100] = name + bytes(100 - len(name))
    elif what == 14 and tar[156:157] != b"V":
        at = 0
        name = numbers.choice(BEGINNINGS) + tar[:100].rstrip(b"\0")
        tar[:100] = name[:100].ljust(100, b"\0")
    else:
        tar[end - 1 if end > at else at] = numbers.randrange(256)
    if at + 512 <= len(tar) and numbers.randrange(10):
        seal(tar, at)
    return bytes(tar)


def mutated_zip(data, numbers):
    data = bytearray(data)
    places = {sign: [found.start() for found in re.finditer(re.escape(sign), bytes(data))]
              for sign in (b"PK\3\4", b"PK\1\2", b"PK\5\6", b"PK\7\x08")}
    sign = numbers.choice([sign for sign, found in places.items() if found])
    at = numbers.choice(places[sign])
    size = {b"PK\3\4": 60, b"PK\1\2": 90, b"PK\5\6": 22, b"PK\7\x08": 16}[sign]
    what = numbers.randrange(7)
    if what < 3:
        data[min(at + numbers.randrange(4, size), len(data) - 1)] = numbers.choice([0, 1, 3, 8, 16, 0x5c, 0x75, 255, numbers.randrange(256)])
    elif what == 3:
        data[at:at] = bytes(numbers.randrange(1, 30))
    elif what == 4:
        name = b"p/new"
        extra = struct.pack("<4s5H3I2H", b"PK\3\4", 20, 0, 0, 0, 0x21, zlib.crc32(b"x"), 1, 1, len(name), 0) + name + b"x"
        data[at:at] = extra
    elif what == 5:
        # The same length, everywhere.
        data = data.replace(b"p/a.txt", numbers.choice([b"p\\a.txt", b"p/a.tx/", b"/pa.txt", b"p/../xx", b"p/./axt", b"p/a\0txt", b"p/empty", b"../.txt"]))
    else:
        data[min(at + numbers.randrange(size), len(data) - 1)] ^= 1 << numbers.randrange(8)
        # The same in the other header, so that both agree.
        if sign == b"PK\3\4":
            field = numbers.randrange(6)
            number = places[sign].index(at)
            if number < len(places[b"PK\1\2"]):
                value = numbers.randrange(256)
                data[at + 6 + field] = value
                data[places[b"PK\1\2"][number] + 8 + field] = value
    return bytes(data)


def compressed(tar, numbers):
    """A stream of one or two members, perhaps with a mistake, and the end of its name."""
    end, compress = numbers.choice([(".tgz", gzip.compress), (".txz", lzma.compress), (".tbz", bz2.compress)])
    cut = numbers.choice([len(tar), numbers.randrange(len(tar))])
    members = [bytearray(compress(part)) for part in (tar[:cut], tar[cut:]) if part]
    member = numbers.choice(members)
    what = numbers.randrange(7)
    if what == 0:
        member[numbers.choice([numbers.randrange(len(member)), numbers.randrange(12)])] ^= 1 << numbers.randrange(8)
    elif what == 1:
        member += bytes(numbers.choice([1, 3, 4, 8, 512]))
    elif what == 2:
        member += numbers.choice([b"x", member[:10], b"PK\5\6" + bytes(18), bytes(16) + b"x"])
    elif what == 3:
        members.append(bytearray(compress(header(b"0", b"p/new", 0) + bytes(1024))))
    elif what == 4:
        members.insert(0, bytearray(compress(b"")))
    elif what == 5:
        del member[numbers.randrange(len(member)):]
    return b"".join(members), end


def mutate(archives, first, count, out):
    names = sorted(os.listdir(archives))
    for number in range(first, first + count):
        numbers = random.Random(number)
        name = names[number % len(names)]
        with open(os.path.join(archives, name), "rb") as file:
            data = file.read()
        if name.endswith(".zip"):
            end, data = ".zip", mutated_zip(data, numbers)
        else:
            end, data = ".tar", gzip.decompress(data)
            if numbers.randrange(8) == 0:
                data, end = compressed(data, numbers)
            else:
                data = mutated_tar(data, numbers)
        with open(os.path.join(out, f"{number}-{name.split('.')[0]}{end}"), "wb") as file:
            file.write(data)


def python_tar(path, out):
    with tarfile.open(path) as tar:
        # A label is no file, and has nothing to extract.
        tar.extractall(out, [entry for entry in tar if entry.type != b"V"])


def python_zip(path, out):
    with zipfile.ZipFile(path) as archive:
        archive.extractall(out)


TARS = [("tar", "-xf", "{}"), ("bsdtar", "-xf", "{}"), python_tar]
PROGRAMS = {
    ".tar": [*TARS, ("busybox", "tar", "-xf", "{}"), ("7zz", "x", "-y", "-snld", "{}")],
    ".tgz": [*TARS, ("busybox", "tar", "-xzf", "{}")],
    ".txz": [*TARS, ("busybox", "tar", "-xJf", "{}")],
    ".tbz": [*TARS, ("busybox", "tar", "-xjf", "{}")],
    ".zip": [("unzip", "-qq", "-o", "{}"), ("bsdtar", "-xf", "{}"), ("bsdtar", "-xf", "-"), ("busybox", "unzip", "-q", "-o", "{}"), ("7zz", "x", "-y", "{}"), ("jar", "-J-XX:+UseSerialGC", "-xf", "{}"), python_zip],
}
# Readers that write a link as a file, and give no permissions.
PLAIN = {"python_zip", "jar"}


def tree(top, is_plain):
    found = {}
    os.chmod(top, 0o700)
    for directory, directories, names in os.walk(top):
        # git has no permissions of directories.
        for name in directories:
            if not os.path.islink(os.path.join(directory, name)):
                os.chmod(os.path.join(directory, name), 0o700)
        for name in names + [name for name in directories if os.path.islink(os.path.join(directory, name))]:
            path = os.path.join(directory, name)
            if os.path.islink(path):
                data, mode = os.readlink(path).encode(), "link"
            else:
                mode = bool(os.stat(path).st_mode & 0o100)
                if not mode:
                    os.chmod(path, 0o600)
                with open(path, "rb") as file:
                    data = file.read()
            found[os.path.relpath(path, top)] = (None if is_plain else mode, data)
    return found


def label(path):
    """The label in the first header of a tar. That of the honest archive with a record is "label"."""
    with open(path, "rb") as file:
        block = file.read(512)
    return os.fsdecode(block[:100].rstrip(b"\0")) if block[156:157] == b"V" else "label"


def extracted(reader, path, out):
    try:
        if callable(reader):
            reader(path, out)
            return True
        with open(path, "rb") as stdin:
            words = [word.replace("{}", path) for word in reader]
            done = subprocess.run(words, cwd=out, stdin=stdin, capture_output=True, timeout=60)
        return done.returncode == 0
    except Exception:
        return False


def judge(expected, archives, programs):
    expected = {is_plain: tree(expected, is_plain) for is_plain in (False, True)}
    work = tempfile.mkdtemp()
    shutil.copytree(archives, work + "/archives")
    shutil.copytree(programs, work + "/programs")
    for program in os.listdir(programs):
        for end in (".tar", ".zip"):
            PROGRAMS[end].append((f"{work}/programs/{program}", "{}"))
    if os.geteuid() == 0:
        os.chown(work, NOBODY, NOBODY)
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    os.umask(0o022)
    missing = set()
    for name in sorted(os.listdir(work + "/archives")):
        path = f"{work}/archives/{name}"
        if name.endswith(".gz"):
            with open(path, "rb") as file:
                data = gzip.decompress(file.read())
            name = name[:-3]
            path = f"{work}/{name}"
            with open(path, "wb") as file:
                file.write(data)
        for reader in PROGRAMS[name[-4:]]:
            title = reader.__name__ if callable(reader) else reader[0]
            if not callable(reader) and not shutil.which(reader[0]):
                missing.add(title)
                continue
            out = tempfile.mkdtemp(dir=work)
            if extracted(reader, path, out):
                # Some readers write the label of GNU tar as an empty file.
                named = os.path.join(out, label(path))
                if os.path.isfile(named) and os.path.getsize(named) == 0:
                    os.unlink(named)
                found = tree(out + "/p" if os.listdir(out) == ["p"] else out, title in PLAIN)
                if found != expected[title in PLAIN]:
                    print("wrong", name, title)
            shutil.rmtree(out, ignore_errors=True)
    for title in sorted(missing):
        print("missing", title)
    print("judged")


if __name__ == "__main__":
    if sys.argv[1] == "mutate":
        mutate(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5])
    else:
        judge(*sys.argv[2:])

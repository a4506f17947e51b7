# Installs the files in /release one by one, and archives a repository with each program. $1 is the version, $2 the commit.
set -eu
export HOME=/root PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin
version=$1 commit=$2
machine=$(uname -m)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

git init --quiet "$work/repository"
cd "$work/repository"
mkdir directory
head -c 300000 /dev/urandom >directory/file
git add .
git -c user.name=a -c user.email=a commit --quiet --message=one
git archive HEAD >"$work/expected"

# The program in PATH, which the file $1 has brought.
check() {
    test "$(git sluice --version)" = "git-sluice $version ($commit)"
    git sluice HEAD | cmp - "$work/expected"
    test -s "$2/share/man/man1/git-sluice.1"
    test -s "$2/share/bash-completion/completions/git-sluice"
    echo "installed and run: ${1##*/} ($(du -k "$1" | cut -f 1) KiB)"
}

for file in /release/*"$machine"*.tar.gz; do
    mkdir "$work/prefix"
    tar -xzf "$file" --strip-components=1 -C "$work/prefix"
    (PATH=$work/prefix/bin:$PATH && check "$file" "$work/prefix")
    rm -rf "$work/prefix"
done
for file in /release/*.deb; do
    test -e "$file" || continue
    dpkg --install "$file" >/dev/null
    check "$file" /usr
    dpkg --purge git-sluice >/dev/null
done
for file in /release/*."$machine".rpm; do
    test -e "$file" || continue
    # The database of this system does not know that git is there.
    rpm --install --nodeps "$file"
    check "$file" /usr
    rpm --erase git-sluice
done
for file in /release/*"$machine".whl; do
    test -e "$file" || continue
    python3 -m venv "$work/venv"
    "$work/venv/bin/pip" install --quiet --no-index "$file"
    (PATH=$work/venv/bin:$PATH && check "$file" "$work/venv")
    rm -rf "$work/venv"
done

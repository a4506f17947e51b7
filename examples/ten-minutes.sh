#!/bin/sh
# The commands of docs/tutorial.md. Run this script in an empty directory: it shows each command and its output.
set -ex

# 1. Create a repository
git init -q -b main demo && cd demo
git config user.name You && git config user.email you@example.com
mkdir src vendor
echo 'int main(void) { return 0; }' >src/main.c
echo '# Demo' >README.md
seq 100000 >vendor/numbers.txt
git add . && git commit -q -m 'First commit' && git tag v1

# 2. Write an archive
git sluice --prefix=demo/ -o ours.tar.gz v1
git archive --prefix=demo/ -o theirs.tar.gz v1
cmp ours.tar.gz theirs.tar.gz && echo identical
tar -tzf ours.tar.gz

# 3. Leave files out
git sluice ls --exclude='*.md' --max-size=100k v1
git sluice --max-size=100k v1 | tar -t

# 4. Ask why a file is missing
git sluice explain --max-size=100k v1 README.md vendor/numbers.txt

# 5. Update a directory with a delta
git sluice v1 | git sluice apply ../copy
ls ../copy
git rm -q README.md && echo '/* new */' >>src/main.c
git commit -q -a -m 'Second commit' && git tag v2
git sluice --base=v1 -o delta.tar v2
tar -tf delta.tar
git sluice apply ../copy delta.tar
ls ../copy
cat ../copy/src/main.c

# 6. Verify the directory
git sluice verify ../copy
echo broken >../copy/src/main.c
git sluice verify ../copy || echo "exit status $?"
git sluice v2 | git sluice apply --repair ../copy -
git sluice verify ../copy && echo 'as applied'

# 7. Publish for machines without a repository
git sluice publish --create ../bucket/main v1
git sluice apply --channel=../bucket/main ../machine
ls ../machine
git sluice publish ../bucket/main v2
git sluice apply --channel=../bucket/main ../machine
ls ../machine
git sluice verify ../machine && echo 'as published'

# A project with two commits, cloned from a bare repository; `ssh` that leads to this directory.
set -eu
mkdir home
git init -q -b main project
cd project
mkdir src
echo 'int main(void) { return 0; }' >src/main.c
seq 2000 >numbers
git add .
git commit -q -m one
echo two >>src/main.c
echo new >new
git add .
git commit -q -m two
cd ..
git clone -q --bare project project.git
git -C project remote add origin ../project.git
git -C project fetch -q origin
cat >ssh <<SSH
#!/bin/sh
for command; do :; done
cd '$PWD'
exec sh -c "\$command"
SSH
chmod +x ssh

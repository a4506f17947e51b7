"""Types lines into a shell that runs in a terminal, and prints what becomes of each.

    terminal.py <setup> <shell> [<option>...]

The shell reads the file <setup> first, which binds Escape `*` to a command that inserts all candidates, and Control-X Control-P
to one that shows the line between `<<` and `>>`. The lines come from standard input. In a line, `^I` stands for the tabulator,
and `^*` for the key that inserts all candidates.
"""

import os
import pty
import re
import signal
import sys

# A shell that waits for something else would wait for ever.
SECONDS = 60


class Terminal:
    def __init__(self, command):
        pid, self.file = pty.fork()
        if pid == 0:
            os.execvp(command[0], command)
        self.seen = b""

    def type(self, keys):
        os.write(self.file, keys)

    def wait_for(self, pattern):
        """The first match of `pattern`. What comes before it is forgotten."""
        while not (found := re.search(pattern, self.seen, re.DOTALL)):
            self.seen += os.read(self.file, 4096)
        self.seen = self.seen[found.end() :]
        return found


def main():
    signal.alarm(SECONDS)
    setup, *command = sys.argv[1:]
    terminal = Terminal(command)
    # The terminal shows the typed words as well, so they are not the answer.
    terminal.type(b". " + os.fsencode(setup) + b'; echo "<""<set up>>"\n')
    terminal.wait_for(rb"<<set up>>")
    for line in sys.stdin.read().splitlines():
        keys = line.encode().replace(b"^I", b"\t").replace(b"^*", b"\x1b*")
        terminal.type(keys + b"\x18\x10")
        shown = terminal.wait_for(rb"<<(.*?)>>")[1]
        print(shown.replace(b"\r\n", b"").decode())
        # Empties the line.
        terminal.type(b"\x15")


main()

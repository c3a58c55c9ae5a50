"""The progress line of a long measurement: how much of how much is done, what it was, and the time left.

On a terminal one line that is written over; otherwise a line for each step.
"""

import shutil
import sys
import time


def duration(seconds):
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


class Progress:
    def __init__(self, total, stream=sys.stderr):
        self.total, self.done, self.stream = total, 0, stream
        self.begin, self.terminal = time.monotonic(), stream.isatty()

    def elapsed(self):
        return time.monotonic() - self.begin

    def left(self):
        if self.done == 0:
            return ""
        return f", about {duration(self.elapsed() / self.done * (self.total - self.done))} left"

    def step(self, text, steps=1):
        """So many steps more are done, of which `text` tells."""
        self.done += steps
        self.write(f"[{self.done}/{self.total}{self.left() if self.done < self.total else ''}] {text}")

    def write(self, line):
        if self.terminal:
            self.stream.write("\r\x1b[K" + line[:shutil.get_terminal_size().columns - 1])
        else:
            self.stream.write(line + "\n")
        self.stream.flush()

    def end(self):
        if self.terminal:
            self.stream.write("\r\x1b[K")
            self.stream.flush()

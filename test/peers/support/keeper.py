#!/usr/bin/env python3
"""Runs a program and ends it, with everything that it started, when its time has come.

usage: keeper.py COMMAND [ARGUMENT...]

The time has come when standard input closes (its parent is gone, however it ended),
when the keeper gets TERM, INT or HUP, or when the program ends by itself and leaves others behind.
First the program is asked, then what is left of its family, then all of it is ended hard. On USR1, the
keeper ends the whole family hard immediately, as a crash or a machine without memory does. Standard output and
error are the program's. The exit status is the program's own, or 128 plus the signal that ended it.
"""

import ctypes
import os
import select
import signal
import sys
import time

ASK_SECONDS = 15  # engines take about 4 s to end
INSIST_SECONDS = 3
SET_PARENT_DEATH_SIGNAL = 1
SET_CHILD_SUBREAPER = 36

libc = ctypes.CDLL(None, use_errno=True)


def family():
    """The processes below this one. It is their reaper, so even those that left their parent are here."""
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as stat:
                    fields = stat.read().rpartition(")")[2].split()
            except OSError:
                continue  # it ended meanwhile
            if fields[0] != "Z":
                parents[int(name)] = int(fields[1])
    found, ring = set(), {os.getpid()}
    while ring:
        ring = {pid for pid, parent in parents.items() if parent in ring} - found
        found |= ring
    return found


def send(pids, number):
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


def reap(program, statuses):
    """Takes the exit statuses of all that have ended; True once the program is among them."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return True
        if pid == 0:
            return program in statuses
        statuses[pid] = os.waitstatus_to_exitcode(status)


def wait_until(done, seconds):
    end = time.monotonic() + seconds
    while not done() and time.monotonic() < end:
        time.sleep(0.05)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    received = []
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda number, _frame: received.append(number))
    signal.signal(signal.SIGUSR1, lambda _received, _frame: send(family(), signal.SIGKILL))
    libc.prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    program = os.fork()
    if program == 0:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGUSR1, signal.SIG_DFL)
        os.setsid()
        # The last resort, should the keeper itself be ended hard.
        libc.prctl(SET_PARENT_DEATH_SIGNAL, signal.SIGTERM, 0, 0, 0)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        try:
            os.execvp(sys.argv[1], sys.argv[1:])
        except OSError as error:
            print(f"keeper: {sys.argv[1]}: {error.strerror}", file=sys.stderr, flush=True)
            os._exit(127)
    statuses = {}
    while not reap(program, statuses) and not received:
        try:
            readable, _, _ = select.select([0], [], [], 0.1)
        except InterruptedError:
            continue
        if readable and os.read(0, 4096) == b"":
            break

    send([program] if program not in statuses else [], signal.SIGTERM)
    wait_until(lambda: reap(program, statuses), ASK_SECONDS)
    send(family(), signal.SIGTERM)
    wait_until(lambda: reap(program, statuses) and not family(), INSIST_SECONDS)
    while family():
        send(family(), signal.SIGKILL)
        wait_until(lambda: reap(program, statuses) and not family(), 1)
    reap(program, statuses)
    status = statuses.get(program, 1)
    sys.exit(status if status >= 0 else 128 - status)


if __name__ == "__main__":
    main()

"""The cell that untrusted Python code runs in: Linux namespaces and limits, no further software.

Run as a file, by a bare interpreter, with the order as JSON on standard input (see `main`). The
code finds a small in-memory file system with the interpreter read-only, the task's files, a scratch
folder, its own process list; no network, no variables, none of the machine's other files. As it
runs alone, this file imports the standard library only.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import resource
import signal
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

REFUSED = 97
"""Exit status when this machine does not let us build the cell."""
REFUSAL = b"[not isolated] "
"""What the output starts with then; the reason follows."""

_CLONE_ALL = 0x00020000 | 0x08000000 | 0x04000000 | 0x10000000 | 0x20000000 | 0x40000000
"""New mount, IPC, UTS, user, process and network namespaces (sched.h)."""
_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_REMOUNT = 0x1, 0x2, 0x4, 0x20
_MS_BIND, _MS_REC, _MS_PRIVATE = 0x1000, 0x4000, 0x40000
_KEPT_FLAGS = {0x2: 0x2, 0x4: 0x4, 0x8: 0x8, 0x400: 0x400, 0x800: 0x800, 0x1000: 0x200000}
"""statvfs flags -> mount flags that an unprivileged remount has to repeat."""
_MNT_DETACH = 2
_PR_SET_PDEATHSIG, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 1, 22, 38
_SYS_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_FORBIDDEN = {
    "x86_64": (0xC000003E, (29, 68, 248, 249, 250, 319, 425, 447)),
    "aarch64": (0xC00000B7, (194, 186, 217, 218, 219, 279, 425, 447)),
}
"""Architecture as the kernel's audit numbers it, and its numbers of shmget, msgget, add_key,
request_key, keyctl, memfd_create, io_uring_setup, memfd_secret: memory that no limit counts, keys
that no namespace parts, and a way around this very list."""
_NOBODY = 65534
_SYSTEM = ("/usr", "/bin", "/lib", "/lib64", "/etc/ld.so.cache", "/etc/alternatives")
_DEVICES = ("null", "zero", "full", "random", "urandom")

_libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    """Read the order, build the cell, run the code in it, and exit with its status.

    Keys: `code`; `python` (the interpreter) and `visible` (folders it needs); `files` (name -> path
    of the task's files); `cpu_seconds`, `memory_bytes`, `processes`, `file_bytes`, `scratch_bytes`.
    With `isolated` false there is no cell: the code runs in the current folder, under limits only.
    """
    order = json.load(sys.stdin)
    if not order["isolated"]:
        _execute(order, Path.cwd())
    _call("prctl", _PR_SET_PDEATHSIG, signal.SIGKILL)
    uid, gid = os.getuid(), os.getgid()
    to_outside, from_inside = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        _inside(order, uid, gid, told=to_outside[1], awaited=from_inside[0])
    os.close(to_outside[1])
    # Root maps from outside, where it may map two users; others can only map themselves.
    if os.read(to_outside[0], 1) and uid == 0:
        Path(f"/proc/{child}/uid_map").write_text(f"0 0 1\n{_NOBODY} {_NOBODY} 1\n")
        Path(f"/proc/{child}/gid_map").write_text(f"0 0 1\n{_NOBODY} {_NOBODY} 1\n")
    os.write(from_inside[1], b"!")
    sys.exit(_status(os.waitpid(child, 0)[1]))


def _inside(order: dict[str, Any], uid: int, gid: int, told: int, awaited: int) -> None:
    """The child: new namespaces, then a first process that builds the cell and waits in it."""
    try:
        _call("prctl", _PR_SET_PDEATHSIG, signal.SIGKILL)
        _call("unshare", _CLONE_ALL)
        os.write(told, b"!")
        os.read(awaited, 1)
        if uid != 0:
            Path("/proc/self/setgroups").write_text("deny")
            Path("/proc/self/uid_map").write_text(f"{_NOBODY} {uid} 1\n")
            Path("/proc/self/gid_map").write_text(f"{_NOBODY} {gid} 1\n")
        first = os.fork()
        if first == 0:
            _call("prctl", _PR_SET_PDEATHSIG, signal.SIGKILL)
            _build(order)
            os._exit(_run(order, drop=uid == 0))
    except OSError as error:
        _refuse(error)
    os._exit(_status(os.waitpid(first, 0)[1]))


def _refuse(error: OSError) -> None:
    os.write(1, REFUSAL + f"{error.filename or 'namespaces'}: {error.strerror}".encode())
    os._exit(REFUSED)


def _build(order: dict[str, Any]) -> None:
    """A new root that holds nothing but what the interpreter needs."""
    try:
        _mount("none", "/", "", _MS_REC | _MS_PRIVATE)
        root = Path("/tmp")  # covered by a file system of our own, whatever it holds
        sources = {name: os.open(path, os.O_PATH) for name, path in order["files"].items()}
        paths = sorted(Path(path) for path in (*_SYSTEM, *order["visible"]))
        links = {path: path.readlink() for path in paths if path.is_symlink()}
        shown = [path for path in paths if path.exists() and path not in links]
        held = [(path, os.open(path, os.O_PATH), path.is_dir()) for path in shown]
        _mount("tmpfs", root, "tmpfs", _MS_NOSUID | _MS_NODEV, "size=1m,mode=755")
        for path, source, is_folder in held:
            _show(source, _under(root, path), is_folder)
        for path, target in links.items():
            _under(root, path).parent.mkdir(parents=True, exist_ok=True)
            _under(root, path).symlink_to(target)
        (root / "dev").mkdir()
        for name in _DEVICES:
            _show(os.open(f"/dev/{name}", os.O_PATH), root / "dev" / name, False, writable=True)
        (root / "proc").mkdir()
        scratch = root / "scratch"
        scratch.mkdir()
        size = f"size={order['scratch_bytes']},nr_inodes=10000,mode=777"
        _mount("tmpfs", scratch, "tmpfs", _MS_NOSUID | _MS_NODEV, size)
        for name, source in sources.items():
            _show(source, scratch / name, is_folder=False)
        try:
            _mount("proc", root / "proc", "proc", _MS_NOSUID | _MS_NODEV)
        except OSError:
            pass  # some containers forbid it; Python does without
        else:
            # No namespaces within the namespace: they would offer more of the kernel to attack.
            (root / "proc/sys/user/max_user_namespaces").write_text("0")
        os.chdir(root)
        _call("syscall", _SYS_PIVOT_ROOT[os.uname().machine], b".", b".")
        _call("umount2", b".", _MNT_DETACH)
        os.chdir("/scratch")
        _mount("none", "/", "", _MS_REMOUNT | _MS_BIND | _MS_RDONLY | _MS_NOSUID | _MS_NODEV)
    except KeyError as error:
        _refuse(OSError(0, f"no known pivot_root on {error}"))
    except OSError as error:
        _refuse(error)


def _under(root: Path, path: Path) -> Path:
    return root / path.relative_to("/")


def _show(source: int, target: Path, is_folder: bool, writable: bool = False) -> None:
    """Bind an opened path to `target`, read-only with all that is mounted below it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.mkdir(exist_ok=True) if is_folder else target.touch()
    _mount(f"/proc/self/fd/{source}", target, "", _MS_BIND | _MS_REC)
    os.close(source)
    if writable:
        return
    for line in Path("/proc/self/mountinfo").read_bytes().rstrip(b"\n").split(b"\n"):
        # Blanks are written as octal numbers, letters beyond ASCII as the bytes they are.
        point = os.fsdecode(line.split(b" ")[4].decode("unicode_escape").encode("latin-1"))
        if point == str(target) or point.startswith(f"{target}/"):
            kept = sum(
                ours for flag, ours in _KEPT_FLAGS.items() if os.statvfs(point).f_flag & flag
            )
            flags = _MS_BIND | _MS_REMOUNT | _MS_RDONLY | _MS_NOSUID | kept
            _mount("none", point, "", flags)


def _run(order: dict[str, Any], drop: bool) -> int:
    """Run the code as nobody under its limits; orphans are reaped, the last ones die with us."""
    worker = os.fork()
    if worker == 0:
        try:
            if drop:
                os.setgroups([])
                os.setresgid(_NOBODY, _NOBODY, _NOBODY)
                os.setresuid(_NOBODY, _NOBODY, _NOBODY)
            _execute(order, Path("/scratch"))
        except OSError as error:
            _refuse(error)
    while True:
        ended, status = os.wait()
        if ended == worker:
            return _status(status)


def _execute(order: dict[str, Any], folder: Path) -> None:
    """Turn this process into the code's: limits, a clean environment, no open files."""
    _call("prctl", _PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    cpu, processes = order["cpu_seconds"], order["processes"] if order["isolated"] else None
    for what, soft, hard in (
        # One second between the signal that names the reason and the one that cannot be caught.
        (resource.RLIMIT_CPU, cpu, cpu + 1),
        (resource.RLIMIT_AS, order["memory_bytes"], order["memory_bytes"]),
        (resource.RLIMIT_FSIZE, order["file_bytes"], order["file_bytes"]),
        (resource.RLIMIT_NOFILE, 256, 256),
        (resource.RLIMIT_CORE, 0, 0),
        # Counted over the namespace; outside one, over all that the user runs.
        *([(resource.RLIMIT_NPROC, processes, processes)] if processes else []),
    ):
        resource.setrlimit(what, (soft, hard))
    code = folder / ".code.py"
    code.write_text(order["code"], encoding="utf-8")
    os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
    os.closerange(3, 4096)
    if order["isolated"]:
        _forbid()
    argv = [order["python"], "-I", "-B", "-u", str(code)]
    os.execve(order["python"], argv, _environment(str(folder)))


def _forbid() -> None:
    """Let the system calls of `_FORBIDDEN`, and all of foreign architectures, fail with EPERM."""
    architecture, calls = _FORBIDDEN[os.uname().machine]
    load, equal, at_least, leave = 0x20, 0x15, 0x35, 0x06  # classic BPF
    deny = 5 + len(calls)  # where the last instruction stands; jumps are relative to the next one
    program = [
        (load, 0, 0, 4),  # the architecture
        (equal, 0, deny - 2, architecture),
        (load, 0, 0, 0),  # the call's number
        (at_least, deny - 4, 0, 0x40000000),  # the x32 table of the same calls
        *((equal, deny - at - 1, 0, number) for at, number in enumerate(calls, start=4)),
        (leave, 0, 0, 0x7FFF0000),  # allowed
        (leave, 0, 0, 0x00050000 | errno.EPERM),
    ]
    code = b"".join(struct.pack("=HBBI", *step) for step in program)
    held = ctypes.create_string_buffer(code, len(code))
    whole = struct.pack("@HP", len(program), ctypes.addressof(held))
    _call("prctl", _PR_SET_SECCOMP, 2, ctypes.create_string_buffer(whole, len(whole)))


def _environment(home: str) -> dict[str, str]:
    """All variables that the code sees. Threads of numerical libraries count as processes."""
    one_thread = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
    return {"PATH": "/usr/bin:/bin", "HOME": home, "TMPDIR": home, "LANG": "C.UTF-8", **one_thread}


def _status(wait_status: int) -> int:
    """A wait status as a shell gives it: 128 + n for signal n."""
    code = os.waitstatus_to_exitcode(wait_status)
    return code if code >= 0 else 128 - code


def _mount(source: str, target: str | Path, kind: str, flags: int, data: str = "") -> None:
    arguments = (source.encode(), os.fsencode(target), kind.encode() or None)
    _call("mount", *arguments, flags, data.encode() or None, what=str(target))


def _call(name: str, *arguments: Any, what: str = "") -> None:
    function: Callable[..., int] = getattr(_libc, name)
    widened = [ctypes.c_ulong(value) if isinstance(value, int) else value for value in arguments]
    if function(*widened) < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what or name)


if __name__ == "__main__":
    main()

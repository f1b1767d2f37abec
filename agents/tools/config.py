"""The `tools` group: which tools a task gets, and their limits (`configs/tools/NAME.yaml`)."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from agents.tools.base import Tool
from agents.tools.calculator import Calculator
from agents.tools.cassette import Web, WebMode, check, check_writable, content_hash
from agents.tools.contamination import ContaminationConfig, ContaminationGuard
from agents.tools.files import FilesConfig, ReadFile
from agents.tools.page import PageConfig, ReadPage
from agents.tools.python import PythonConfig, RunPython, why_not_isolated
from agents.tools.search import Search, SearchConfig


class ToolsConfig(BaseModel):
    """The same tools for every memory, so that only the memory differs.

    `web` is `live`, `record` (into `cassette`), `replay` (from it, without network) or `off` (no
    web tools). `result_tokens` caps every result; `vision` hands images on instead of reading them.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    outside_digest: ClassVar[frozenset[str]] = frozenset({"cassette"})

    name: str = "default"
    web: WebMode = "live"
    cassette: Path | None = None
    result_tokens: int = Field(2000, ge=100)
    vision: bool = False
    search: SearchConfig = SearchConfig()
    page: PageConfig = PageConfig()
    files: FilesConfig = FilesConfig()
    python: PythonConfig = PythonConfig()
    contamination: ContaminationConfig = ContaminationConfig()

    @model_validator(mode="after")
    def _cassette_where_needed(self) -> Self:
        if self.web in ("record", "replay") and self.cassette is None:
            raise ValueError(f"tools.web={self.web} needs tools.cassette=FILE")
        return self

    def core(self, files: Sequence[Path]) -> list[Tool]:
        """`read_file` and `calculator`: no network, no code."""
        return [
            ReadFile(
                files, result_tokens=self.result_tokens, limits=self.files, vision=self.vision
            ),
            Calculator(),
        ]

    def all(self, files: Sequence[Path], question: str) -> list[Tool]:
        """Every tool of a task; `question` is what the contamination guard looks for."""
        tools = self.core(files)
        if self.web != "off":
            web = Web(self.web, self.cassette)
            guard = ContaminationGuard(self.contamination, question)
            cap = self.result_tokens
            search = Search(web, guard, config=self.search, result_tokens=cap)
            page = ReadPage(web, guard, config=self.page, result_tokens=cap)
            tools = [search, page, *tools]
        if self.python.enabled:
            tools.append(RunPython(files, result_tokens=self.result_tokens, config=self.python))
        return tools

    def cassette_hash(self) -> str:
        """Hash of what is replayed; "" in every other mode."""
        if self.web != "replay" or self.cassette is None:
            return ""
        return content_hash(self.cassette)

    def preflight(self) -> list[str]:
        """One line per missing thing, with the remedy."""
        lines = [
            f"tools: the package {package!r} is missing; pip install -e '.[{extra}]'"
            for package, extra in self._packages()
            if importlib.util.find_spec(package) is None
        ]
        if self.web in ("replay", "record") and self.cassette is not None:
            judge = check if self.web == "replay" else check_writable
            if wrong := judge(self.cassette):
                lines.append(f"tools.cassette: {wrong}")
        if self.python.enabled and not self.python.unsafe and (why := why_not_isolated()):
            lines.append(
                f"tools.python: this machine cannot isolate code ({why}); allow user namespaces "
                "or set tools.python.enabled=false; tools.python.unsafe=true runs it unprotected"
            )
        return lines

    def _packages(self) -> list[tuple[str, str]]:
        packages = [("markitdown", "documents")]
        if self.web in ("live", "record"):
            packages += [(name, "web") for name in ("ddgs", "httpx", "trafilatura", "pypdf")]
        return packages

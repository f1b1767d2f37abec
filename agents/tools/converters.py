"""The child behind `agents.tools.convert`: bytes on standard input, one JSON object on output.

python -m agents.tools.converters KIND NAME < FILE
"""

from __future__ import annotations

import io
import json
import os
import resource
import sys
import warnings
from pathlib import Path, PurePosixPath

from agents.tools.base import ToolError
from agents.tools.cassette import LastingError
from agents.tools.textfiles import render_csv, render_xlsx

_MOST_CHARACTERS = 3_000_000
"""Handed back of one file; no more than the first million is ever shown, `find` looks further."""
_MEMORY_BYTES = 8 << 30
"""Address space; the OCR runtime reserves a few gigabytes of it without using them."""


def document(name: str, data: bytes) -> str:
    """pdf, docx, pptx, html and the like, as Markdown with tables kept."""
    try:
        from markitdown import MarkItDown, StreamInfo
    except ImportError as error:
        raise ToolError(_missing(name, "documents", error)) from None
    suffix = PurePosixPath(name).suffix.lower()
    result = MarkItDown(enable_plugins=False).convert_stream(
        io.BytesIO(data), stream_info=StreamInfo(extension=suffix)
    )
    return result.markdown


def page(name: str, data: bytes, links: bool = False) -> str:
    """The readable part of an HTML page as Markdown; all of its text if no part stands out."""
    try:
        import trafilatura
    except ImportError as error:
        raise ToolError(_missing(name, "web", error)) from None
    html = data.decode("utf-8")
    text = trafilatura.extract(
        html,
        output_format="markdown",
        include_tables=True,
        include_links=links,
        favor_recall=True,
        with_metadata=False,
    )
    return text or trafilatura.html2txt(html) or ""


def page_links(name: str, data: bytes) -> str:
    """As `page`, with the targets of its links."""
    return page(name, data, links=True)


def pdf(name: str, data: bytes) -> str:
    """The text layer of a PDF, page by page."""
    try:
        from pypdf import PdfReader
    except ImportError as error:
        raise ToolError(_missing(name, "web", error)) from None
    sheets = PdfReader(io.BytesIO(data)).pages
    texts = [f"Page {number}:\n{sheet.extract_text()}" for number, sheet in enumerate(sheets, 1)]
    if all(text.endswith(":\n") for text in texts):
        raise LastingError(f"{name} is a PDF without a text layer (a scan).")
    return "\n".join(texts)


def image(name: str, data: bytes) -> str:
    """The text in a picture, line by line."""
    try:
        from rapidocr_onnxruntime import RapidOCR
    except ImportError as error:
        raise ToolError(_missing(name, "ocr", error)) from None
    found, _ = RapidOCR()(data)
    lines = [str(text) for _, text, _ in found or ()]
    size = _image_size(data)
    if not lines:
        return f"{name}: a picture {size} without readable text."
    return "\n".join([f"{name}: a picture {size}; its text by OCR:", *lines])


def _image_size(data: bytes) -> str:
    from PIL import Image

    with Image.open(io.BytesIO(data)) as picture:
        return f"of {picture.width} x {picture.height} pixels"


def audio(name: str, data: bytes) -> str:
    """What is said in a recording. The model is a local folder: nothing is downloaded here."""
    try:
        from faster_whisper import WhisperModel
    except ImportError as error:
        raise ToolError(_missing(name, "audio", error)) from None
    folder = os.environ.get("WMT_WHISPER_MODEL", "")
    if not folder or not Path(folder).is_dir():
        raise ToolError(
            f"{name} is a recording, and no speech model is there: set WMT_WHISPER_MODEL to the "
            "folder of a faster-whisper model."
        )
    model = WhisperModel(folder, device="cpu", compute_type="int8", local_files_only=True)
    segments, _ = model.transcribe(io.BytesIO(data))
    return "\n".join(segment.text.strip() for segment in segments)


def _missing(name: str, extra: str, error: ImportError) -> str:
    kind = PurePosixPath(name).suffix.lower() or "this kind"
    remedy = f"pip install -e '.[{extra}]'"
    return f"{name} cannot be read here: {kind} needs the extra {extra!r} ({remedy}): {error}."


_CONVERTERS = {
    "document": document,
    "page": page,
    "page-links": page_links,
    "pdf": pdf,
    "image": image,
    "table": render_csv,
    "workbook": render_xlsx,
    "audio": audio,
}


def main() -> None:
    """Convert standard input; whatever the library raises is a fault of the file."""
    kind, name = sys.argv[1:]
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    warnings.simplefilter("ignore")
    # The libraries may print; only our one object goes to the real standard output.
    out, sys.stdout = sys.stdout, sys.stderr
    converter = _CONVERTERS[kind]
    try:
        reply = {"text": converter(name, sys.stdin.buffer.read())[:_MOST_CHARACTERS]}
    except ToolError as error:
        reply = {"lasting" if isinstance(error, LastingError) else "error": str(error)}
    except MemoryError:
        reply = {"error": f"{name} takes more memory than it may."}
    except Exception as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        reply = {"lasting": f"{name} is not readable: {reason}"}
    out.write(json.dumps(reply))


if __name__ == "__main__":
    main()

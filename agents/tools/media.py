"""Kinds of images and recordings, and images as models take them."""

from __future__ import annotations

import base64
from pathlib import PurePosixPath

IMAGE_TYPES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".bmp": "image/bmp",
    ".tif": "image/tiff",
    ".tiff": "image/tiff",
}
AUDIO_SUFFIXES = frozenset({".mp3", ".wav", ".m4a", ".flac", ".ogg"})


def data_url(name: str, data: bytes) -> str:
    """The image as a data URL."""
    kind = IMAGE_TYPES[PurePosixPath(name).suffix.lower()]
    return f"data:{kind};base64,{base64.b64encode(data).decode('ascii')}"

"""One small attachment of every kind that is found in GAIA, each with a sentence of its own."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import docx
import openpyxl
import pptx
from openpyxl.styles import PatternFill
from PIL import Image, ImageDraw, ImageFont
from pptx.util import Inches
from reportlab.pdfgen import canvas

FACTS = {
    "ledger.xlsx": "Harbour dues",
    "rainfall.csv": "Tuesday",
    "minutes.pdf": "The ferry leaves at noon",
    "letter.docx": "Dear harbour master",
    "talk.pptx": "Slide about lighthouses",
    "notes.txt": "Tide table of the north pier",
    "count.py": "print(6 * 7)",
    "catalogue.jsonld": "Lighthouse",
    "stations.xml": "Kiln Rock",
    "bundle.zip": "inner/readme.txt",
    "sign.png": "PIER 42",
    "photo.jpg": "DOCK 17",
    "call.mp3": "",
    "molecule.pdb": "HETATM",
}
"""File name -> what a reader has to find in it ("" where nothing can be read here)."""


def make(folder: Path) -> dict[str, Path]:
    """Write them all; name -> path."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "ledger.xlsx").write_bytes(workbook())
    (folder / "rainfall.csv").write_text("day;rain\nMonday;1,5\nTuesday;0,0\n", "utf-8")
    page = canvas.Canvas(str(folder / "minutes.pdf"))
    page.drawString(72, 720, "The ferry leaves at noon.")
    page.save()
    letter = docx.Document()
    letter.add_paragraph("Dear harbour master,")
    cells = letter.add_table(rows=1, cols=2).rows[0].cells
    cells[0].text, cells[1].text = "berth", "nine"
    letter.save(str(folder / "letter.docx"))
    slides = pptx.Presentation()
    slide = slides.slides.add_slide(slides.slide_layouts[6])
    box = slide.shapes.add_textbox(Inches(1), Inches(1), Inches(5), Inches(1))
    box.text_frame.text = "Slide about lighthouses"
    slides.save(str(folder / "talk.pptx"))
    (folder / "notes.txt").write_text("Tide table of the north pier\nhigh 04:10\n", "utf-8")
    (folder / "count.py").write_text("print(6 * 7)\n", "utf-8")
    (folder / "catalogue.jsonld").write_text(json.dumps({"@type": "Lighthouse"}), "utf-8")
    (folder / "stations.xml").write_text("<stations><s>Kiln Rock</s></stations>", "utf-8")
    with zipfile.ZipFile(folder / "bundle.zip", "w") as archive:
        archive.writestr("inner/readme.txt", "The key lies under the mat.")
        archive.writestr("ledger.xlsx", workbook())
    picture("PIER 42").save(folder / "sign.png")
    picture("DOCK 17").save(folder / "photo.jpg")
    # Silent frames of MPEG-1 layer III.
    (folder / "call.mp3").write_bytes((b"\xff\xfb\x90\x00" + bytes(413)) * 20)
    (folder / "molecule.pdb").write_text("HETATM    1  O   HOH A   1\n", "utf-8")
    return {name: folder / name for name in FACTS}


def workbook() -> bytes:
    """A sheet with a formula that was never computed, a filled cell, and a second, hidden sheet."""
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = "Dues"
    sheet.append(["Item", "Amount"])
    sheet.append(["Harbour dues", 120])
    sheet.append(["Total", "=B2*2"])
    sheet["A2"].fill = PatternFill("solid", fgColor="FF00AA")
    other = book.create_sheet("Rates")
    other.append(["rate", 7])
    other.sheet_state = "hidden"
    written = io.BytesIO()
    book.save(written)
    return written.getvalue()


def picture(text: str) -> Image.Image:
    """Black letters on white."""
    image = Image.new("RGB", (420, 120), "white")
    font = ImageFont.load_default(size=48)
    ImageDraw.Draw(image).text((30, 30), text, fill="black", font=font)
    return image

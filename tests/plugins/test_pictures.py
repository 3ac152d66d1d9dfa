"""Images as their makers meant them: every expectation is computed from the pixels that were written."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from pseudobench import BenchError
from pseudobench_vision.pictures import LIMIT, read_picture

RAMP = np.linspace(0, 65535, 64).reshape(8, 8)


@pytest.mark.parametrize("name", ["grey.png", "grey.tif", "grey.pgm"])
def test_sixteen_bits_keep_their_range(tmp_path, name):
    path = tmp_path / name
    if name.endswith("pgm"):
        path.write_bytes(b"P5 8 8 65535\n" + RAMP.astype(">u2").tobytes())
    else:
        Image.fromarray(RAMP.astype(np.uint16)).save(path)
    expected = np.rint(RAMP.astype(np.uint16) / 257).astype(int)
    found = read_picture(path)
    assert found.shape == (8, 8, 3)
    assert (found == expected[..., None]).all()


def png(width, height, depth, colour, rows):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    parts = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts


def test_sixteen_bits_of_colour_keep_their_range(tmp_path):
    pixels = np.arange(0, 65536, 65536 // 48)[:48].reshape(4, 4, 3).astype(">u2")
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    (tmp_path / "colour.png").write_bytes(png(4, 4, 16, 2, rows))
    assert np.abs(read_picture(tmp_path / "colour.png") - pixels / 257).max() < 1


def test_a_float_image_is_refused(tmp_path):
    Image.fromarray(RAMP.astype(np.float32) / 65535).save(tmp_path / "float.tif")
    with pytest.raises(BenchError, match=r"float\.tif has pixels of mode F.*8 or 16 bits"):
        read_picture(tmp_path / "float.tif")


def test_whole_numbers_of_32_bits_are_refused(tmp_path):
    Image.fromarray((RAMP * 1000).astype(np.int32)).save(tmp_path / "wide.tif")
    with pytest.raises(BenchError, match=r"wide\.tif has pixels"):
        read_picture(tmp_path / "wide.tif")


def test_rotation_is_honoured(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, (6, 4, 3), dtype=np.uint8)
    image = Image.fromarray(pixels)
    exif = image.getexif()
    exif[0x0112] = 6  # to be turned by a quarter, clockwise
    image.save(tmp_path / "turned.png", exif=exif)
    assert (read_picture(tmp_path / "turned.png") == np.rot90(pixels, -1)).all()


@pytest.mark.parametrize("mode", ["RGBA", "LA", "palette"])
def test_transparency_is_on_white(tmp_path, mode):
    alpha = np.array([[0, 128, 255]], dtype=np.uint8)
    path = tmp_path / "clear.png"
    if mode == "palette":
        image = Image.fromarray(np.array([[0, 1, 1]], dtype=np.uint8), "P")
        image.putpalette([0, 0, 0, 0, 0, 0])
        image.save(path, transparency=0)
        expected = [255, 0, 0]
    else:
        channels = np.zeros((1, 3, 3 if mode == "RGBA" else 1), dtype=np.uint8)
        Image.fromarray(np.concatenate([channels, alpha[..., None]], -1), mode).save(path)
        expected = [255, 127, 0]
    assert read_picture(path)[0, :, 0].tolist() == expected


def test_cmyk_and_palettes_are_colours(tmp_path):
    Image.new("CMYK", (4, 4), (0, 255, 255, 0)).save(tmp_path / "cmyk.tif")
    assert read_picture(tmp_path / "cmyk.tif")[0, 0].tolist() == [255, 0, 0]
    Image.new("RGB", (4, 4), (10, 20, 30)).quantize().save(tmp_path / "palette.gif")
    assert read_picture(tmp_path / "palette.gif")[0, 0].tolist() == [10, 20, 30]


def test_an_animation_is_refused(tmp_path):
    frames = [Image.new("RGB", (4, 4), (shade, 0, 0)) for shade in (0, 200)]
    frames[0].save(tmp_path / "moving.gif", save_all=True, append_images=frames[1:])
    with pytest.raises(BenchError, match=r"moving\.gif has 2 frames"):
        read_picture(tmp_path / "moving.gif")


@pytest.mark.parametrize("side", [9_000, 30_000, 2**31 - 1])
def test_a_bomb_is_refused_by_its_header(tmp_path, side):
    """There are no pixels in these files at all: decoding would say something else."""
    assert side**2 > LIMIT
    (tmp_path / "bomb.png").write_bytes(png(side, side, 8, 2, b""))
    with pytest.raises(BenchError, match=r"bomb\.png is too large"):
        read_picture(tmp_path / "bomb.png")


def test_broken_files_of_every_length_are_one_line(tmp_path):
    path = tmp_path / "cut.png"
    Image.fromarray(RAMP.astype(np.uint8)).save(path)
    whole = path.read_bytes()
    for length in range(0, len(whole) - 20, 7):
        path.write_bytes(whole[:length])
        with pytest.raises(BenchError, match=r"^[^\n]*cut\.png can't be read as an image[^\n]*$"):
            read_picture(path)

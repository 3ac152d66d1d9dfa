"""Augmentation of batches, against padding and cropping done by torch and against PIL."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from PIL import Image, ImageEnhance, ImageOps

from pseudobench.learning.augmentation import Augmentation, augmentation, colour_jitter, cutout, shift_flip
from pseudobench.learning.randaugment import OPERATIONS, rand_augment


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def pictures(n=16, channels=3, size=32, seed=0):
    """Smooth random colour images, as photographs are."""
    coarse = torch.rand(n, channels, 6, 6, generator=generator(seed)) * 255
    return torch.nn.functional.interpolate(coarse, size, mode="bicubic").clamp(0, 255).to(torch.uint8)


def as_bytes(image):
    return image.contiguous().numpy().tobytes()


@pytest.mark.parametrize("flip", [False, True])
def test_shift_and_flip_are_reflection_padding_crop_and_mirror(flip):
    image = pictures(1, size=8)
    padded = torch.nn.functional.pad(image.float(), (2, 2, 2, 2), mode="reflect").to(torch.uint8)[0]
    windows = [padded[:, y : y + 8, x : x + 8] for y in range(5) for x in range(5)]
    expected = {as_bytes(window) for window in windows}
    if flip:
        expected |= {as_bytes(window.flip(2)) for window in windows}
    out = shift_flip(image.expand(4000, -1, -1, -1), 2, flip, generator())
    assert {as_bytes(one) for one in out} == expected


def test_holes_have_their_size_inside_and_are_cut_at_the_edge():
    x = torch.ones(2000, 3, 16, 16)
    holes = (cutout(x, 8, False, generator()) == 0)[:, 0].sum((1, 2))
    assert holes.max() == 64
    assert holes.min() == 16
    sizes = (cutout(x, 8, True, generator()) == 0)[:, 0].sum((1, 2))
    assert {0, 4, 16, 36, 64} <= set(sizes.tolist())
    assert (cutout(x, 8, False, generator()).amin(1) == cutout(x, 8, False, generator()).amax(1)).all()


def test_jitter_of_no_strength_changes_nothing_and_of_any_stays_in_range():
    images = pictures()
    assert (colour_jitter(images, 0.0, generator()).int() - images.int()).abs().max() <= 1
    jittered = colour_jitter(images, 0.4, generator())
    assert jittered.dtype == torch.uint8
    assert not torch.equal(jittered, images)
    grey = pictures(channels=1)
    assert colour_jitter(grey, 0.4, generator()).shape == grey.shape


def test_jitter_draws_for_each_image():
    same = pictures(1).expand(50, -1, -1, -1)
    assert len({as_bytes(one) for one in colour_jitter(same, 0.4, generator())}) == 50


PIL_ANSWERS = {
    "autocontrast": lambda image, value: ImageOps.autocontrast(image),
    "equalize": lambda image, value: ImageOps.equalize(image),
    "invert": lambda image, value: ImageOps.invert(image),
    "posterize": lambda image, value: ImageOps.posterize(image, int(value)),
    "solarize": ImageOps.solarize,
    "colour": lambda image, value: ImageEnhance.Color(image).enhance(value),
    "contrast": lambda image, value: ImageEnhance.Contrast(image).enhance(value),
    "brightness": lambda image, value: ImageEnhance.Brightness(image).enhance(value),
    "sharpness": lambda image, value: ImageEnhance.Sharpness(image).enhance(value),
    "rotate": lambda image, value: image.rotate(value),
    "shear-x": lambda image, value: image.transform(image.size, Image.Transform.AFFINE, (1, value, 0, 0, 1, 0)),
    "translate-y": lambda image, value: image.transform(image.size, Image.Transform.AFFINE, (1, 0, 0, 0, 1, value)),
}


@pytest.mark.parametrize("name", PIL_ANSWERS)
@pytest.mark.parametrize("magnitude", [8, 15])
def test_operations_are_those_of_pil(name, magnitude):
    """Up to rounding; geometric operations up to their direction and a few pixels at the edge."""
    low, high, both_ways, apply = OPERATIONS[name]
    value = low + magnitude / 30 * (high - low)
    images = pictures()
    ours = apply(images, value, generator()).float()
    directions = (value, -value) if both_ways else (value,)
    differences = []
    for direction in directions:
        answers = [PIL_ANSWERS[name](Image.fromarray(one.permute(1, 2, 0).numpy()), direction) for one in images]
        theirs = torch.stack([torch.from_numpy(np.array(one)).permute(2, 0, 1) for one in answers]).float()
        differences.append((ours - theirs).abs())
    allowed = 3.0 if both_ways else 1.0
    assert min(float(difference.mean()) for difference in differences) <= allowed


def test_every_sample_draws_its_own_operations():
    same = pictures(1).expand(400, -1, -1, -1)
    out = rand_augment(same, 1, 15, generator())
    assert len({as_bytes(one) for one in out}) >= len(OPERATIONS)
    assert torch.equal(out, rand_augment(same, 1, 15, generator()))
    assert torch.equal(same, pictures(1).expand(400, -1, -1, -1))


def test_what_the_names_stand_for():
    images = pictures()
    nothing = augmentation("none", flip=True)
    assert torch.equal(nothing.pixels(images, generator()), images)
    assert nothing.inputs(images, generator()) is images
    assert augmentation("weak", flip=True) == Augmentation(shift=True, flip=True)
    paper = augmentation("paper", flip=True)
    out = paper.pixels(images, generator())
    assert out.dtype == torch.uint8
    assert (paper.inputs(out.float() + 1, generator()) == 0).any()

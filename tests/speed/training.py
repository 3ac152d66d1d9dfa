"""Images per second through training, and through augmentation alone."""

from __future__ import annotations

from pathlib import Path

import torch
from measuring import Row, cifar, inverse, network, normalizer, ratio
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

from pseudobench.contracts.settings import Recipe
from pseudobench.learning.augmentation import augmentation
from pseudobench.learning.training_loop import fit
from pseudobench.learning.training_set import TrainingSet
from pseudobench.rounds.round_networks import one_hot

BATCH, STEPS = 128, 40


def rows(data_dir: Path) -> list[Row]:
    """Against a bare loop, and against PIL in a DataLoader."""
    data = cifar("cifar10", data_dir)
    images, labels = data.train_images[:4000], data.train_labels[:4000]
    positive = one_hot(labels, 10)
    known = TrainingSet(images, torch.arange(len(images)), positive, torch.zeros_like(positive))
    recipe = Recipe(epochs=1, steps=STEPS, batch_size=BATCH)
    made, normalize = network("cifar_cnn", data), normalizer(data)
    weak = augmentation("cutout", flip=True)
    batch, targets = normalize(images[:BATCH]), labels[:BATCH]
    slower, _ = ratio(
        lambda: fit(made, known, recipe, normalize, augment=weak, seed=0), lambda: bare(made, batch, targets)
    )
    what = "training `cifar_cnn` with flip, crop and cutout, images per second against a bare loop on one batch"
    found = [Row(what, f"{1 / slower:.2f}", "at least 0.95")]

    torch.set_num_threads(1)
    paper = augmentation("paper", flip=True)
    generator = torch.Generator().manual_seed(0)
    pil = DataLoader(Pictures(images[: 8 * BATCH]), batch_size=BATCH, shuffle=True)

    def batched() -> None:
        for start in range(0, 8 * BATCH, BATCH):
            paper.inputs(normalize(paper.pixels(images[start : start + BATCH], generator)), generator)

    measured = ratio(batched, lambda: list(pil))
    what = "the `paper` augmentation on one core, images per second against PIL in a DataLoader"
    found.append(Row(what, inverse(measured), "at least 5 times"))
    return found


def bare(network: torch.nn.Module, batch: torch.Tensor, targets: torch.Tensor) -> None:
    """The same pre-normalized batch again and again, and nothing that training could do without."""
    network.train()
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=5e-4)
    for _ in range(STEPS):
        loss = torch.nn.functional.cross_entropy(network(batch), targets)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()


class Pictures(Dataset[torch.Tensor]):
    """PIL images through torchvision's transforms, one by one, as the published code has it."""

    def __init__(self, images: torch.Tensor) -> None:
        self._images = [Image.fromarray(image.permute(1, 2, 0).numpy()) for image in images]
        self._transform = transforms.Compose(
            [
                transforms.RandAugment(num_ops=3, magnitude=4),
                transforms.RandomHorizontalFlip(),
                transforms.RandomCrop(32, padding=4, padding_mode="reflect"),
                transforms.ColorJitter(0.4, 0.4, 0.4),
                transforms.ToTensor(),
                transforms.Normalize((0.49, 0.48, 0.45), (0.25, 0.24, 0.26)),
                transforms.RandomErasing(1.0, (0.02, 0.25), (1, 1)),
            ]
        )

    def __len__(self) -> int:
        return len(self._images)

    def __getitem__(self, place: int) -> torch.Tensor:
        return self._transform(self._images[place])

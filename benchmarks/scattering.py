# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""A fixed scattering transform of small images [Bruna & Mallat 2013, "Invariant scattering convolution networks"].

With Morlet wavelets psi(j, l) of widths 2^j, j = 0, 1, at the angles pi l / L, and a Gaussian window phi of width 4,

    S x = (x * phi, |x * psi(j, l)| * phi, ||x * psi(0, l)| * psi(1, m)| * phi),

every fourth pixel of it: 1 + 2 L + L^2 channels of (side / 4)^2 numbers. Nothing is learned: the features of an image
are a function of that image and of public constants, so that they cost no privacy.
"""

import math

import torch
from rich.progress import Progress
from torch import Tensor
from torch.nn.functional import conv2d

BAND = 3 * math.pi / 4  # frequency of the finest wave, in radians per pixel
SPREAD = 0.8  # standard deviation of its envelope, in pixels
REACH = 4  # standard deviations at which filters are cut
STRIDE = 4
CHUNK = 64  # images at a time: what a cache holds
TINY = 1e-5


def morlet(width: float, angle: float, *, slant: float) -> tuple[Tensor, Tensor]:
    """Real and imaginary part of a wave under a Gaussian envelope: exp(-|u|^2 / 2 s^2) (exp(i w . u) - b).

    ``slant`` < 1 widens the envelope across the wave by 1 / slant; b is such that the wavelet sums to 0.
    """
    reach = math.ceil(REACH * SPREAD * width)
    axis = torch.arange(-reach, reach + 1, dtype=torch.float64)
    along = math.cos(angle) * axis[:, None] + math.sin(angle) * axis[None, :]
    across = math.cos(angle) * axis[None, :] - math.sin(angle) * axis[:, None]
    envelope = torch.exp(-(along**2 + (slant * across) ** 2) / (2 * (SPREAD * width) ** 2))
    wave, phase = envelope / envelope.sum(), BAND / width * along
    return wave * (torch.cos(phase) - (wave * torch.cos(phase)).sum()), wave * torch.sin(phase)


def wavelets(side: int, step: int, angles: int) -> tuple[Tensor, Tensor]:
    """Convolution with psi(log2 step, l) for every l as two matrices; on so few pixels one product is fastest."""
    pixels = torch.eye(side**2, dtype=torch.float64).view(-1, 1, side, side)
    turns = [math.pi * turn / angles for turn in range(angles)]
    parts = zip(*(morlet(step, turn, slant=4 / max(angles, 4)) for turn in turns), strict=True)
    real, imaginary = (torch.stack(part)[:, None] for part in parts)
    reach = real.shape[-1] // 2
    real, imaginary = (
        conv2d(pixels, part, stride=step, padding=reach).flatten(1).float() for part in (real, imaginary)
    )
    return real, imaginary


def window(size: int, step: int) -> Tensor:
    """A matrix W: W x are the means of x under the window around each output; x lies ``step`` pixels apart."""
    places = step * torch.arange(size, dtype=torch.float64)
    centres = STRIDE * torch.arange(size * step // STRIDE, dtype=torch.float64) + (STRIDE - 1) / 2
    weights = torch.exp(-((places[None, :] - centres[:, None]) ** 2) / (2 * (SPREAD * STRIDE / 2) ** 2))
    return (weights / weights.sum(1, keepdim=True)).float()


class Scattering:
    """The transform of images of ``side`` x ``side`` pixels, a multiple of 4, with ``angles`` orientations."""

    def __init__(self, side: int, angles: int) -> None:
        self.channels, self.side = 1 + 2 * angles + angles**2, side // STRIDE
        self._wavelets = {step: wavelets(side, step, angles) for step in (1, 2)}
        self._windows = {step: window(side // step, step) for step in (1, 2)}

    def _moduli(self, images: Tensor, step: int) -> Tensor:
        """|x * psi| for every angle, every ``step``-th pixel, channel after channel."""
        real, imaginary = (images.flatten(2) @ part for part in self._wavelets[step])
        size = images.shape[-1] // step
        return torch.hypot(real, imaginary).unflatten(2, (-1, size, size)).flatten(1, 2)

    def _smooth(self, images: Tensor, step: int) -> Tensor:
        return self._windows[step] @ images @ self._windows[step].T

    def chunk(self, images: Tensor) -> Tensor:
        """Features of a few images, n x channels x (side / 4) x (side / 4)."""
        raw = images[:, None]
        fine, coarse = self._moduli(raw, 1), self._moduli(raw, 2)
        both = self._moduli(fine, 2)
        smoothed = (self._smooth(each, step) for each, step in ((raw, 1), (fine, 1), (coarse, 2), (both, 2)))
        return torch.cat(list(smoothed), dim=1)

    def features(self, images: Tensor, *, title: str) -> Tensor:
        """Normalized features of all images, a row each, with a progress bar."""
        found = torch.empty(len(images), self.channels * self.side**2)
        with Progress(transient=True) as progress:
            for start in progress.track(range(0, len(images), CHUNK), description=title):
                part = slice(start, start + CHUNK)
                found[part] = normalized(self.chunk(images[part]))
        return found


def normalized(features: Tensor) -> Tensor:
    """Every channel of every image scaled to mean 0 and variance 1 within that image, so it costs no privacy."""
    spread, mean = torch.std_mean(features.flatten(2), dim=2, keepdim=True, correction=0)
    return ((features.flatten(2) - mean) / (spread + TINY)).flatten(1)

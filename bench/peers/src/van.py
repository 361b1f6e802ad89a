"""A variational autoregressive network (Wu, Wang and Zhang, PRL 122, 080602) for the
Ising model on the square lattice, trained as the authors' repository trains its dense
one: three masked layers with four features a site, parametric rectifiers, a mixture
with the flipped configuration, KL(q|pi) by the score function over batches of 1,000,
Adam at 0.001, gradients clipped to the norm 1, and beta rising as 1 - 0.998^step."""

import math
import time

import torch
from torch import nn


class MaskedLinear(nn.Linear):
    """Features of a site see those of sites before it, and of its own if it may."""

    def __init__(self, features, outputs, sites, own):
        super().__init__(features * sites, outputs * sites)
        before, site = torch.arange(sites).repeat(features), torch.arange(sites).repeat(outputs)
        mask = before < site[:, None] + own
        self.register_buffer("mask", mask.float())
        with torch.no_grad():
            self.weight *= self.mask * math.sqrt(mask.numel() / int(mask.sum()))

    def forward(self, x):
        return nn.functional.linear(x, self.mask * self.weight, self.bias)


class Network:
    def __init__(self, side, beta, depth=3, width=4):
        self.side, self.sites, self.beta = side, side * side, beta
        layers = [MaskedLinear(1, width, self.sites, 0)]
        for left in reversed(range(depth - 1)):
            layers += [nn.PReLU(width * self.sites, init=0.5), MaskedLinear(width, width if left else 1, self.sites, 1)]
        self.net = nn.Sequential(*layers, nn.Sigmoid())
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=1e-3)
        self.steps, self.seconds = 0, 0.0

    @torch.no_grad()
    def sample(self, n):
        s = torch.zeros(n, self.sites)
        for i in range(self.sites):
            s[:, i] = 2 * torch.bernoulli(self.net(s)[:, i]) - 1
        return s * (2 * torch.randint(2, (n, 1)) - 1)

    def one(self, s):
        p, up = self.net(s), (s + 1) / 2
        return (torch.log(p + 1e-7) * up + torch.log(1 - p + 1e-7) * (1 - up)).sum(1)

    def log_density(self, s):
        return torch.logaddexp(self.one(s), self.one(-s)) - math.log(2)

    def energy(self, s):
        s = s.view(-1, self.side, self.side)
        return -(s * (s.roll(1, 1) + s.roll(1, 2))).sum((1, 2))

    def step(self):
        begin = time.process_time()
        self.optimizer.zero_grad()
        s = self.sample(1000)
        log_q = self.log_density(s)
        with torch.no_grad():
            r = log_q + self.beta * (1 - 0.998 ** self.steps) * self.energy(s)
        ((r - r.mean()) * log_q).mean().backward()
        nn.utils.clip_grad_norm_(self.net.parameters(), 1)
        self.optimizer.step()
        self.steps += 1
        self.seconds += time.process_time() - begin

    @torch.no_grad()
    def judge(self, n):
        """R = ln q + beta E of n samples."""
        parts = []
        for first in range(0, n, 1024):
            s = self.sample(min(1024, n - first))
            parts.append((self.log_density(s) + self.beta * self.energy(s)).double())
        return torch.cat(parts)

"""A variational autoregressive network (Wu, Wang and Zhang, PRL 122, 080602) for the
Ising model on the square lattice, as the authors' repository trains its two shallow
ones: three masked layers, dense with four features a site or convolutional with 64
channels and kernels of 13 by 13; parametric rectifiers, a mixture with the flipped
configuration, KL(q|pi) by the score function over batches of 1,000, Adam at 0.001,
gradients clipped to the norm 1, and beta rising as 1 - 0.998^step in 10,000 steps.

Three things are done for a processor's sake. Samples are drawn with the activations
of sites that are known kept, as the paper proposes, which takes one pass where the
repository makes one for each site. Kernels are cut to what of them sees the lattice.
And where there is time for more or fewer steps, beta rises over as much of it.

  select van KIND SIDE BETA SEED SECONDS
                    a network, dense or convolutional, of parameters[1], trained for so
                    long; a call is a step -> seconds[1], of processors so far, loss[1],
                    the batch's mean of ln q + beta E
  select judge N    its R = ln q + beta E -> r[N]; all are doubles"""

import math
import time

import torch
from torch import nn
from torch.nn import functional as F

PUBLISHED_STEPS = 10_000
DEPTH = 3
BLOCK = 16  # sites whose part in later ones a product of large matrices adds


def scaled(weight, mask):
    """The initial weights, masked, and larger for those that the mask takes."""
    with torch.no_grad():
        weight *= mask * math.sqrt(mask.numel() / int(mask.sum()))


class MaskedLinear(nn.Linear):
    """Features of a site, which lie together, see those of sites before it, and of its
    own if it may."""

    def __init__(self, features, outputs, sites, own):
        super().__init__(features * sites, outputs * sites)
        self.features, self.outputs, self.own = features, outputs, own
        before, site = torch.arange(sites).repeat_interleave(features), torch.arange(sites).repeat_interleave(outputs)
        self.register_buffer("mask", (before < site[:, None] + own).float())
        scaled(self.weight, self.mask)

    def forward(self, x):
        return F.linear(x, self.mask * self.weight, self.bias)

    def at(self, x, y, first, i):
        """Outputs of site i, of which y knows what comes from sites before the first."""
        seen, rows = slice(first * self.features, (i + self.own) * self.features), slice(i * self.outputs, (i + 1) * self.outputs)
        return torch.addmm(y[:, rows], x[:, seen], self.weight[rows, seen].t())

    def add(self, x, y, first, last):
        """What comes from sites first to last to those that follow."""
        seen, rows = slice(first * self.features, last * self.features), slice(last * self.outputs, None)
        y[:, rows].addmm_(x[:, seen], self.weight[rows, seen].t())


class Dense(nn.Module):
    def __init__(self, side, width=4):
        super().__init__()
        self.sites = side * side
        features = [1] + [width] * (DEPTH - 1)
        self.layers = nn.ModuleList(MaskedLinear(f, g, self.sites, int(k > 0)) for k, (f, g) in enumerate(zip(features, features[1:] + [1])))
        self.rectifiers = nn.ModuleList(nn.PReLU(width * self.sites, init=0.5) for _ in features[1:])

    def forward(self, s):
        """Logits of s, of any length before the sites."""
        x = self.layers[0](s)
        for rectifier, layer in zip(self.rectifiers, self.layers[1:]):
            x = layer(rectifier(x))
        return x

    def sample(self, n):
        inputs = [torch.zeros(n, layer.in_features) for layer in self.layers]
        outputs = [layer.bias.repeat(n, 1) for layer in self.layers]
        for first in range(0, self.sites, BLOCK):
            last = min(first + BLOCK, self.sites)
            for i in range(first, last):
                x = self.layers[0].at(inputs[0], outputs[0], first, i)
                for rectifier, layer, known, y in zip(self.rectifiers, self.layers[1:], inputs[1:], outputs[1:]):
                    own = slice(i * layer.features, (i + 1) * layer.features)
                    known[:, own] = F.prelu(x, rectifier.weight[own])
                    x = layer.at(known, y, first, i)
                inputs[0][:, i] = 2 * torch.bernoulli(torch.sigmoid(x[:, 0])) - 1
            for layer, x, y in zip(self.layers, inputs, outputs):
                layer.add(x, y, first, last)
        return inputs[0]


class MaskedConvolution(nn.Conv2d):
    """A channel's site sees those in the rows above it, and left of it in its row, and
    its own if it may."""

    def __init__(self, channels, outputs, side, own, reach=6):
        super().__init__(channels, outputs, 2 * reach + 1)
        mask = torch.ones(2 * reach + 1, 2 * reach + 1)
        mask[reach, reach + own:] = 0
        mask[reach + 1:] = 0
        self.register_buffer("mask", mask)
        scaled(self.weight, mask)
        self.side, self.own, self.reach = side, own, min(reach, side - 1)
        first = reach - self.reach
        self.rows, self.columns = slice(first, reach + 1), slice(first, reach + self.reach + 1)

    def kernel(self):
        """What of the masked weights sees the lattice."""
        return (self.mask * self.weight)[:, :, self.rows, self.columns]

    def forward(self, x):
        r = self.reach
        return F.conv2d(F.pad(x, (r, r, r, 0)), self.kernel(), self.bias)

    def begin(self, n):
        """The layer's input while samples are drawn: rows, samples, columns and channels,
        with a margin; and the kernel's rows as matrices."""
        r = self.reach
        k = self.kernel().permute(2, 3, 1, 0)  # rows, columns, channels, outputs
        upper = [row.reshape(-1, self.out_channels) for row in k[:-1]]
        own = k[-1, :r + self.own].reshape(-1, self.out_channels)
        return torch.zeros(r + self.side, n, self.side + 2 * r, self.in_channels), upper, own

    def at(self, known, i, j):
        """Outputs of the site in row i and column j."""
        x, upper, own = known
        n, r = x.shape[1], self.reach
        y = torch.addmm(self.bias, x[i + r, :, j:j + r + self.own].reshape(n, -1), own)
        for k, weights in enumerate(upper):
            if i + k >= r:  # not in the margin
                y.addmm_(x[i + k, :, j:j + 2 * r + 1].reshape(n, -1), weights)
        return y


class Convolutional(nn.Module):
    def __init__(self, side, width=64):
        super().__init__()
        self.side = side
        channels = [1] + [width] * (DEPTH - 1)
        self.layers = nn.ModuleList(MaskedConvolution(f, g, side, int(k > 0)) for k, (f, g) in enumerate(zip(channels, channels[1:] + [1])))
        self.rectifiers = nn.ModuleList(nn.PReLU(width, init=0.5) for _ in channels[1:])

    def forward(self, s):
        x = self.layers[0](s.view(-1, 1, self.side, self.side))
        for rectifier, layer in zip(self.rectifiers, self.layers[1:]):
            x = layer(rectifier(x))
        return x.reshape(s.shape)

    def sample(self, n):
        inputs = [layer.begin(n) for layer in self.layers]
        s = torch.empty(n, self.side, self.side)
        for i in range(self.side):
            for j in range(self.side):
                x = self.layers[0].at(inputs[0], i, j)
                for rectifier, layer, known in zip(self.rectifiers, self.layers[1:], inputs[1:]):
                    known[0][i + layer.reach, :, j + layer.reach] = rectifier(x)
                    x = layer.at(known, i, j)
                s[:, i, j] = 2 * torch.bernoulli(torch.sigmoid(x[:, 0])) - 1
                inputs[0][0][i + self.layers[0].reach, :, j + self.layers[0].reach, 0] = s[:, i, j]
        return s.view(n, -1)


KINDS = {"dense": Dense, "convolutional": Convolutional}


class Network:
    """Trained for a given number of seconds of processors, or for the published number
    of steps where that is 0."""

    def __init__(self, kind, side, beta, seconds=0.0):
        self.side, self.beta, self.time = side, beta, seconds
        self.net = KINDS[kind](side)
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=1e-3)
        self.steps, self.seconds, self.loss = 0, 0.0, None

    def size(self):
        return sum(p.numel() for p in self.net.parameters())

    @torch.no_grad()
    def sample(self, n):
        s = self.net.sample(n)
        return s * (2 * torch.randint(2, (n, 1)) - 1)

    def log_density(self, s):
        both = torch.cat([s, -s])
        one = F.logsigmoid(both * self.net(both)).sum(1)
        return torch.logaddexp(one[:len(s)], one[len(s):]) - math.log(2)

    def energy(self, s):
        s = s.view(-1, self.side, self.side)
        return -(s * (s.roll(1, 1) + s.roll(1, 2))).sum((1, 2))

    def step(self):
        begin = time.process_time()
        done = self.seconds / self.time if self.time else self.steps / PUBLISHED_STEPS
        beta = self.beta * (1 - 0.998 ** (PUBLISHED_STEPS * done))
        self.optimizer.zero_grad()
        s = self.sample(1000)
        log_q = self.log_density(s)
        with torch.no_grad():
            r = log_q + beta * self.energy(s)
        ((r - r.mean()) * log_q).mean().backward()
        nn.utils.clip_grad_norm_(self.net.parameters(), 1)
        self.optimizer.step()
        self.steps, self.loss = self.steps + 1, r.mean()
        self.seconds += time.process_time() - begin

    @torch.no_grad()
    def judge(self, n):
        """R = ln q + beta E of n samples."""
        parts = []
        for first in range(0, n, 1024):
            s = self.sample(min(1024, n - first))
            parts.append((self.log_density(s) + self.beta * self.energy(s)).double())
        return torch.cat(parts)


def register(operations, arrays):
    """Adds the operations to those of pytorch.py."""
    network = None

    def autoregressive(kind, side, beta, seed, seconds):
        nonlocal network
        torch.manual_seed(int(seed))
        network = Network(kind, int(side), float(beta), float(seconds))
        arrays["parameters"] = torch.tensor([network.size()], dtype=torch.float64)

        def call():
            network.step()
            arrays["seconds"] = torch.tensor([network.seconds], dtype=torch.float64)
            arrays["loss"] = network.loss.double().view(1)

        return call

    def judge(n):
        def call():
            arrays["r"] = network.judge(int(n))

        return call

    operations.update({"van": autoregressive, "judge": judge})

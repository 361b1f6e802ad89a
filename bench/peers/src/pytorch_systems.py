"""The paper's training loops in PyTorch, as its users would write them.

The Gram matrices are dense, distances come from a matrix product, gradients
from automatic differentiation, the optimiser is torch.optim.AdamW. Settings are
read from the program's own configuration files.
"""

import math

import torch
from torch import nn


class Kernel:
    """A sum of Gaussians and inverse multiquadrics of the squared distance."""

    def __init__(self, config):
        sigmas = config.get("bandwidths") or []
        weights = config.get("weights") or [1.0] * len(sigmas)
        self.gaussians = [(-0.5 / s**2, w) for s, w in zip(sigmas, weights)]
        self.multiquadrics = [(q["c"] ** 2, -q["beta"], q["weight"]) for q in config.get("imq") or []]

    def __call__(self, d2):
        total = 0
        for factor, weight in self.gaussians:
            term = torch.exp(factor * d2)
            total = total + (term if weight == 1 else weight * term)
        for c2, exponent, weight in self.multiquadrics:
            term = torch.rsqrt(c2 + d2) if exponent == -0.5 else (c2 + d2) ** exponent
            total = total + (term if weight == 1 else weight * term)
        return total


def squared_distances(x, y):
    """|x_i - y_j|^2 by one matrix product."""
    d2 = torch.addmm((x * x).sum(1, keepdim=True) + (y * y).sum(1), x, y.T, alpha=-2)
    return d2.clamp(min=0)


def mean(gram, statistic):
    if statistic == "V":
        return gram.mean()
    n = gram.shape[0]
    return (gram.sum() - gram.diagonal().sum()) / (n * (n - 1))


def reversibility_loss(s, t, kernel, statistic="V"):
    """MMD^2 between the pairs (s, t) and (t, s), with t a constant."""
    x, y = torch.cat([s, t], 1), torch.cat([t, s], 1)
    return sum_of_grams(kernel(squared_distances(x, x)), kernel(squared_distances(y, y)), kernel(squared_distances(x, y)), statistic)


def sum_of_grams(xx, yy, xy, statistic):
    return mean(xx, statistic) + mean(yy, statistic) - 2 * mean(xy, statistic)


def perceptron(sizes, slope):
    layers = []
    for i, (a, b) in enumerate(zip(sizes, sizes[1:])):
        layers.append(nn.Linear(a, b))
        if i < len(sizes) - 2:
            layers.append(nn.LeakyReLU(slope))
    return nn.Sequential(*layers)


def linear_layers(module):
    return [m for m in module.modules() if isinstance(m, nn.Linear)]


def load_parameters(module, flat):
    """Fills the linear layers from one vector: weights [in][out], then biases."""
    flat, at = torch.from_numpy(flat), 0
    with torch.no_grad():
        for layer in linear_layers(module):
            n = layer.weight.numel()
            layer.weight.copy_(flat[at:at + n].reshape(layer.in_features, layer.out_features).T)
            layer.bias.copy_(flat[at + n:at + n + layer.out_features])
            at += n + layer.out_features
    assert at == len(flat), "the parameters do not fit the network"


def flat_gradient(module):
    parts = []
    for layer in linear_layers(module):
        parts += [layer.weight.grad.T.reshape(-1), layer.bias.grad]
    return torch.cat(parts)


class System:
    """What the systems share: the loop around generator, transition and loss."""

    def __init__(self, config):
        self.config = config
        self.batch = config["training"]["batch"]
        self.kernel = Kernel(config["loss"]["kernel"])
        self.statistic = config["loss"]["statistic"]

    def optimise(self):
        o = self.config["training"]["optimizer"]
        self.clip = self.config["training"].get("clip_norm") or 0
        self.parameters = list(self.net.parameters())
        self.optimizer = torch.optim.AdamW(self.parameters, lr=o["learning_rate"], betas=(o["beta1"], o["beta2"]),
                                           eps=o["epsilon"], weight_decay=o["weight_decay"])

    def step(self):
        s = self.generate(torch.randn(self.batch, self.latent))
        with torch.no_grad():
            t = self.transition(s)
        loss = self.loss(s, t)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        if self.clip:
            nn.utils.clip_grad_norm_(self.parameters, self.clip)
        self.optimizer.step()

    def loss_and_gradient(self, inputs):
        """Loss and gradient by the parameters for given noise z and moves to t."""
        load_parameters(self.net, inputs["params"])
        self.net.zero_grad(set_to_none=True)
        s = self.generate(*self.noise(inputs))
        loss = self.loss(s, torch.from_numpy(inputs["t"]).reshape(self.batch, -1))
        loss.backward()
        return loss.detach().double(), flat_gradient(self.net)

    def noise(self, inputs):
        """The latent variables z, and the uniform numbers u where a head draws."""
        z = torch.from_numpy(inputs["z"]).reshape(-1, self.latent)
        return (z, torch.from_numpy(inputs["u"])) if "u" in inputs else (z,)


class Ising(System):
    """Section 5.3: sign with a straight-through estimator, spins of +-1."""

    def __init__(self, config):
        super().__init__(config)
        g, t = config["generator"], config["target"]
        self.side, self.sites = t["l"], t["l"] ** 2
        self.beta, self.coupling, self.field = t["beta"], t["j"], t["h"]
        self.proposal, self.moves = config["transition"]["proposal"], config["transition"]["steps"]
        self.global_flip = config["transition"]["global_flip"]
        self.latent, self.head = g["latent"], g["head"]
        self.width, self.relative = g["width"]["start"], g["width"]["unit"] == "spread"
        self.net = perceptron([g["latent"], *g["hidden"], self.sites], g["slope"])
        self.optimise()

    def generate(self, z):
        h = self.net(z)
        if self.head == "bernoulli":
            hard = torch.where(torch.rand_like(h) < torch.sigmoid(2 * h), 1.0, -1.0)
            soft = torch.tanh(h)
        else:
            width = self.width * h.detach().std(correction=0) if self.relative else self.width
            hard, soft = torch.sign(h), torch.tanh(h / width)
        return hard.detach() + soft - soft.detach()

    def energy(self, s):
        s = s.view(-1, self.side, self.side)
        bonds = (s * (torch.roll(s, 1, 1) + torch.roll(s, 1, 2))).sum((1, 2))
        e = -self.coupling * bonds
        return e - self.field * s.sum((1, 2)) if self.field else e

    def propose(self, n):
        if self.proposal == "multi-spin":
            order = torch.rand(n, self.sites).argsort(1)
            return order < torch.randint(1, self.sites + 1, (n, 1))
        flips = torch.zeros(n, self.sites, dtype=torch.bool)
        flips[torch.arange(n), torch.randint(self.sites, (n,))] = True
        if self.proposal == "mixture":
            flips |= torch.rand(n, 1) < self.global_flip
        return flips

    def transition(self, s):
        s = s.detach()
        e = self.energy(s)
        for _ in range(self.moves):
            new = torch.where(self.propose(len(s)), -s, s)
            e_new = self.energy(new)
            accept = torch.rand(len(s)) < torch.exp(-self.beta * (e_new - e))
            s = torch.where(accept[:, None], new, s)
            e = torch.where(accept, e_new, e)
        return s

    def loss(self, s, t):
        return reversibility_loss(s, t, self.kernel, self.statistic)


class Hybrid(System):
    """Section 5.2: a coordinate x and a mode k, drawn from softmax with a straight-through estimator."""

    def __init__(self, config):
        super().__init__(config)
        g, t = config["generator"], config["transition"]
        self.mu = torch.tensor(config["target"]["mu"], dtype=torch.float32)
        self.modes = len(self.mu)
        x = torch.linspace(-12, 12, 200001, dtype=torch.float64)[:, None]
        self.log_z = torch.trapezoid(torch.exp(-((x * x - self.mu.double()) ** 2)), x, dim=0).log().float()
        self.order, self.moves, self.flip, self.sigma = t["order"], t["steps"], t["flip"], t["sigma"][0]
        if self.order != "paper-order":
            raise ValueError("only the paper's recipe is written here")
        self.latent = g["latent"]
        self.net = perceptron([g["latent"], *g["hidden"], 1 + self.modes], g["slope"])
        self.optimise()

    def one_hot(self, k):
        return nn.functional.one_hot(k, self.modes).float()

    def generate(self, z, u=None):
        out = self.net(z)
        x, p = out[:, :1], torch.softmax(out[:, 1:], 1)
        if u is None:
            k = torch.multinomial(p.detach(), 1)[:, 0]
        else:
            k = (p.detach().cumsum(1)[:, :-1] <= u[:, None]).sum(1)
        return torch.cat([x, self.one_hot(k) + p - p.detach()], 1)

    def energy(self, x, k):
        return (x * x - self.mu[k]) ** 2

    def transition(self, s):
        x, k = s[:, 0].detach(), s[:, 1:].argmax(1)
        n = len(x)
        for _ in range(self.moves):
            sign = torch.where(torch.rand(n) < self.flip, -1.0, 1.0)
            new = sign * x + self.sigma * torch.randn(n)
            accept = torch.rand(n) < torch.exp((self.energy(x, k) - self.energy(new, k)).clamp(max=0))
            x = torch.where(accept, new, x)
            other = (k + torch.randint(1, self.modes, (n,))) % self.modes
            stretch = (self.mu[other] / self.mu[k]).sqrt()
            new = x * stretch
            ratio = stretch.log() + self.energy(x, k) - self.energy(new, other) + self.log_z[k] - self.log_z[other]
            accept = torch.rand(n) < torch.exp(ratio.clamp(max=0))
            x, k = torch.where(accept, new, x), torch.where(accept, other, k)
        return torch.cat([x[:, None], self.one_hot(k)], 1)

    def loss(self, s, t):
        x, e, xt, et = s[:, :1], s[:, 1:], t[:, :1], t[:, 1:]
        forward, backward = torch.cat([x, xt], 1), torch.cat([xt, x], 1)
        same, across = (e @ e.T) * (et @ et.T), (e @ et.T) * (et @ e.T)
        return sum_of_grams(self.kernel(squared_distances(forward, forward)) * same,
                            self.kernel(squared_distances(backward, backward)) * same,
                            self.kernel(squared_distances(forward, backward)) * across, self.statistic)


class Mixture(System):
    """Section 5.1: RealNVP with affine couplings, random-walk Metropolis."""

    def __init__(self, config):
        super().__init__(config)
        g, t, loss = config["generator"], config["transition"], config["loss"]
        components = config["target"]["components"]
        self.log_weight = torch.tensor([c["weight"] for c in components]).log()
        self.mean = torch.tensor([c["mean"] for c in components])
        covariance = torch.tensor([c["covariance"] for c in components])
        self.factor = torch.linalg.inv(torch.linalg.cholesky(covariance))  # of the precision
        self.log_weight = self.log_weight + self.factor.diagonal(dim1=1, dim2=2).log().sum(1)
        self.dim = self.mean.shape[1]
        self.sigma, self.moves = t["sigma"][0], t["steps"]
        if g["kind"] != "realnvp" or g["partition"] != "parity" or len(t["sigma"]) > 1 or loss["kind"] != "mmd":
            raise ValueError("only the paper's recipe is written here")
        self.latent, self.depth, self.clamp = self.dim, g["depth"], g["clamp"]
        widths = [len(range(p, self.dim, 2)) for p in range(2)]
        self.net = nn.ModuleList()
        for l in range(self.depth):
            for _ in ("scale", "translation"):
                self.net.append(perceptron([widths[(l + 1) % 2], *g["hidden"], widths[l % 2]], g["slope"]))
        self.boundary = loss["boundary"]
        self.center = torch.tensor(self.boundary["center"] or [0.0] * self.dim)
        self.optimise()

    def generate(self, z):
        v = [z[:, p::2] for p in range(2)]
        for l in range(self.depth):
            scale, translation = self.net[2 * l], self.net[2 * l + 1]
            given = v[(l + 1) % 2]
            log_scale = self.clamp * torch.tanh(scale(given) / self.clamp)
            v[l % 2] = v[l % 2] * torch.exp(log_scale) + translation(given)
        if self.dim == 2:
            return torch.cat(v, 1)
        x = torch.empty_like(z)
        x[:, 0::2], x[:, 1::2] = v
        return x

    def log_density(self, x):
        """ln pi(x) up to a constant."""
        y = torch.einsum("kij,nkj->nki", self.factor, x[:, None, :] - self.mean)
        return torch.logsumexp(self.log_weight - 0.5 * (y * y).sum(2), 1)

    def transition(self, s):
        x = s.detach()
        current = self.log_density(x)
        for _ in range(self.moves):
            new = x + self.sigma * torch.randn_like(x)
            proposed = self.log_density(new)
            accept = torch.rand(len(x)) < torch.exp((proposed - current).clamp(max=0))
            x = torch.where(accept[:, None], new, x)
            current = torch.where(accept, proposed, current)
        return x

    def loss(self, s, t):
        loss = reversibility_loss(s, t, self.kernel, self.statistic)
        b = self.boundary
        if b["weight"]:
            outside = ((s - self.center) ** 2).sum(1) - b["radius"] ** 2
            loss = loss + b["weight"] * torch.sigmoid(b["sharpness"] * outside).mean()
        return loss


systems = {"ising": Ising, "hybrid": Hybrid, "gmm": Mixture}


def system(config):
    return systems[config["system"]](config)

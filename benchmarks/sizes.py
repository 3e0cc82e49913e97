"""How large a measurement is: the dimension of the points, or the network."""

from typing import NamedTuple, final


@final
class Dimension(NamedTuple):
    """Points of d coordinates; the network is the base one."""

    d: int

    def __str__(self) -> str:
        return f"d = {self.d:,}"


@final
class Network(NamedTuple):
    """A plain MLP of L weight matrices, which is L − 1 hidden layers, of width h."""

    layers: int = 4
    width: int = 128

    def __str__(self) -> str:
        return f"L = {self.layers}, h = {self.width:,}"


Size = Dimension | Network

BASE = Network()
NETWORKS = {
    "base": BASE,
    "L=8": Network(layers=8),
    "L=16": Network(layers=16),
    "h=256": Network(width=256),
    "h=512": Network(width=512),
    "h=1024": Network(width=1024),
}


def dimensions(*values: int) -> tuple[Dimension, ...]:
    return tuple(map(Dimension, values))

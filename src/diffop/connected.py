"""Groups of sets that are connected by common members."""

from collections.abc import Hashable, Sequence, Set


def connected(keys: Sequence[Set[Hashable]]) -> list[list[int]]:
    """The numbers of the sets, in groups; sets of different groups have no common member."""
    groups: list[tuple[set[Hashable], list[int]]] = []
    for number, own in enumerate(keys):
        touching = [group for group in groups if group[0] & own]
        groups = [group for group in groups if not group[0] & own]
        members = [member for _, group in touching for member in group]
        groups.append((set().union(own, *(others for others, _ in touching)), [*members, number]))
    return [members for _, members in groups]

"""The papers whose results the report reproduces: their numbers, their authors and their topics."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Paper:
    """A paper; `key` is its name in web addresses."""

    number: str
    authors: str
    topic: str
    key: str

    @property
    def page(self) -> str:
        """Name of the page of the supplement with all results on this paper."""
        return f"supplement-{self.key}"

    @property
    def title(self) -> str:
        """Authors and topic of the paper."""
        return f"{self.authors}: {self.topic}"


SOURCES = {
    s.number: s
    for s in (
        Paper("000", "Yuan & Ge 2016", "least squares for a crank-slider", "yuan-ge-2016"),
        Paper("001", "Yao, Liu & Yang 2020", "normal forces under Coulomb friction", "yao-liu-yang-2020"),
        Paper("002", "Yang & Yao 2017", "a singular mass matrix and a genetic algorithm", "yang-yao-2017"),
        Paper("004", "Hao, Liu & Yao 2020", "quasi-velocities against Routh's equations", "hao-liu-yao-2020"),
    )
}
"""The papers by number."""

"""Who led partitions, where there are several nodes."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class LeaderView:
    """What Metadata said of one partition."""

    at: tuple[str, int]
    port: int
    """Of the node that leads it; 0 for nobody."""
    epoch: int
    began_us: int
    ended_us: int

    def line(self) -> str:
        return f"{self.at[0]}-{self.at[1]} is led at port {self.port} in epoch {self.epoch}"

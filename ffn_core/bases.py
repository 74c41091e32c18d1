"""What a scenario can start from: an example by its name, or random weights of any size, which a link writes as `r`."""

import re
from dataclasses import dataclass, field

from ffn_core.checks import check_integer, short
from ffn_core.examples import Example, example, random_example
from ffn_core.families import KINDS, Kind

# What a base or a file may hold ...
MAX_D_MODEL = 256
MAX_D_FF = 1024
MAX_POSITIONS = 64
MAX_EXPERTS = 16
MAX_EXPERT_D_FF = 256
# ... and how far edits may enlarge a smaller one.
MAX_EDITED = {"d_model": 16, "d_ff": 64, "positions": 32}

_RANDOM = re.compile(
    r"(?:([a-z_]{1,20})-)?([0-9]{1,4})-([0-9]{1,4})-([0-9]{1,4})-([0-9]{1,10})(?:-([0-9]{1,4}))?"
)


@dataclass(frozen=True)
class RandomBase:
    """Random weights to start from: `random_example` of the same numbers.

    `kind` is one of `ffn_core.families.KINDS`: dense, gated, experts, or experts_gated for experts that are gated.
    `n_experts` 0 means 8 for experts; the others have none.
    """

    d_model: int
    d_ff: int
    n_positions: int
    seed: int
    kind: str = field(default="dense", kw_only=True)
    n_experts: int = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        """Raise a ValueError that names the number which is out of range."""
        if self.kind not in KINDS:
            raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {short(self.kind)}")
        mixes = KINDS[self.kind].mixes
        if mixes and self.n_experts == 0:
            object.__setattr__(self, "n_experts", 8)
        for name, low, high in (
            ("d_model", 1, MAX_D_MODEL),
            ("d_ff", 1, most_d_ff(KINDS[self.kind])),
            ("n_positions", 1, MAX_POSITIONS),
            ("seed", 0, 2**32 - 1),
            ("n_experts", *((1, MAX_EXPERTS) if mixes else (0, 0))),
        ):
            object.__setattr__(self, name, check_integer(name, getattr(self, name), low, high))

    @property
    def text(self) -> str:
        """A link's `r`: d_model-d_ff-n_positions-seed, for other kinds than dense with the kind before it, and for
        experts with their number after it.
        """
        kind = "" if self.kind == "dense" else f"{self.kind}-"
        experts = f"-{self.n_experts}" if self.n_experts else ""
        return f"{kind}{self.d_model}-{self.d_ff}-{self.n_positions}-{self.seed}{experts}"

    @classmethod
    def from_text(cls, text: str) -> "RandomBase":
        """Read what `text` writes; a ValueError says what is wrong."""
        parts = _RANDOM.fullmatch(text)
        if not parts:
            raise ValueError(
                f"r must be d_model-d_ff-positions-seed, as in 8-32-3-0, gated-8-22-3-0 or experts-8-32-3-0-4, "
                f"got {short(text)}"
            )
        d_model, d_ff, n_positions, seed = map(int, parts.group(2, 3, 4, 5))
        return cls(d_model, d_ff, n_positions, seed, kind=parts[1] or "dense", n_experts=int(parts[6] or 0))


Base = str | RandomBase


def most_d_ff(kind: Kind) -> int:
    """How wide a base's or a file's hidden layer may be, in a mixture that of each expert."""
    return MAX_EXPERT_D_FF if kind.mixes else MAX_D_FF


def start_of(base: Base) -> Example:
    """The network and x that a base stands for; a ValueError lists the examples if there is none of that name."""
    if isinstance(base, RandomBase):
        return random_example(
            base.d_model, base.d_ff, base.n_positions, base.seed, kind=base.kind, n_experts=base.n_experts
        )
    return example(base)


def name_of(base: Base) -> str:
    """The base as a link writes it."""
    return base.text if isinstance(base, RandomBase) else base

"""The decision about one product: its extents, its tile and its schedule."""

from __future__ import annotations

import attrs

from pypto_core.ir import AssignStmt, Expr
from pypto_plugin_autotile.chooser import L0TileConfig, L0TileResult, Stationarity
from pypto_plugin_autotile.chooser.regimes import Regime
from pypto_plugin_autotile.match import Product


@attrs.frozen(kw_only=True, eq=False)
class Plan:
    """How to tile a product. ``bias_load``: where a window of a Mat bias can be loaded from again."""

    product: Product
    M: int
    N: int
    K: int
    config: L0TileConfig
    choice: L0TileResult
    bias_load: AssignStmt | None = None

    @property
    def tile(self) -> tuple[int, int, int]:
        """m, n, k."""
        return self.choice.tile

    @property
    def m(self) -> int:
        """Rows of a window."""
        return self.choice.m

    @property
    def n(self) -> int:
        """Columns of a window."""
        return self.choice.n

    @property
    def k(self) -> int:
        """Depth of a block."""
        return self.choice.k

    @property
    def is_whole(self) -> bool:
        """Whether the tile is the product itself."""
        return self.tile == (self.M, self.N, self.K)

    @property
    def needs_grid(self) -> bool:
        """Whether the result is cut, not only the reduction."""
        return self.m != self.M or self.n != self.N

    @property
    def full_k(self) -> bool:
        """Whether a window is one product over all of K."""
        return self.k == self.K

    @property
    def rows_outer(self) -> bool:
        """Whether a full-K grid walks over rows outside and columns inside, holding the left operand."""
        if self.choice.stationarity is Stationarity.OutputStationary:
            return self.choice.os_holds_a
        return self.choice.stationarity is Stationarity.AStationary

    @property
    def pins_operand(self) -> bool:
        """Whether one operand stays in L0 while the other moves, which forbids two copies of it."""
        return self.choice.stationarity is not Stationarity.OutputStationary

    @property
    def output_valid(self) -> tuple[Expr, Expr]:
        """Valid extents of the product."""
        rows, cols = self.product.type.valid_shape
        return rows, cols

    @property
    def acc_bytes(self) -> int:
        """Bytes of an accumulator for the whole result."""
        config = self.config
        return config.acc_rows(self.M) * config.box_n(self.N) * config.bytes_c

    @property
    def schedule(self) -> str:
        """The schedule in words."""
        return Regime(self.choice.stationarity, self.choice.double_buffer_c).title

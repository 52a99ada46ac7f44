"""Which function is the meaning of which built-in operator. Names only: nothing heavy is imported here."""

from __future__ import annotations

from pypto_core.contract import OpExecutor

_PACKAGE = "pypto_plugin_simulator.meanings"


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


# Operators of tiles and of tensors that mean the same: family → operators, each named like its function.
_BOTH: dict[str, tuple[str, ...]] = {
    "elementwise": _names(
        """add adds sub subs mul muls div divs maximum minimum rem rems fmod fmods ands ors xors shl shls shr shrs
        exp log sin cos sqrt rsqrt recip neg relu cast expands"""
    ),
    "reductions": tuple(
        f"{line}_{what}"
        for line in ("row", "col")
        for what in _names(
            """sum prod max min argmax argmin expand expand_add expand_sub expand_mul expand_div expand_max
            expand_min expand_expdif"""
        )
    ),
    "matmul": _names("matmul matmul_acc"),
    "memory": _names("create full read write assemble fillpad concat ci"),
    "views": _names("reshape set_validshape transpose reinterpret_view"),
    "picking": _names("gather gather_row scatter scatter_mask"),
    "sorting": _names("sort32 mrgsort_format1 mrgsort_format2"),
    "queries": _names("get_block_idx get_block_num get_subblock_idx"),
}

_TILE: dict[str, tuple[str, ...]] = {
    "elementwise": _names("maximums minimums lrelu"),
    "masks": _names("cmp cmps sel sels"),
    "matmul": _names("matmul_bias gemv gemv_acc gemv_bias batch_matmul batch_matmul_acc"),
    "memory": _names("load store move alloc extract fillpad_expand"),
    "picking": _names("gather_mask"),
    "views": _names("transpose_view"),
}

# Names that Python keeps for itself.
_RENAMED: dict[str, str] = {
    "abs": "elementwise:abs_",
    "and": "elementwise:and_",
    "or": "elementwise:or_",
    "xor": "elementwise:xor",
    "not": "elementwise:not_",
    "slice": "views:slice_",
}

_SINGLE: dict[str, str] = {
    "tile.fillpad_inplace": "memory:fillpad",
    "tensor.cmp": "masks:truth",
    "tensor.cmps": "masks:truth",
    "tensor.create_l1": "memory:create",
    "tensor.view": "views:same",
    "tensor.expand_clone": "elementwise:expand_clone",
    "tensor.dim": "queries:dim",
    "array.create": "queries:array_create",
    "array.get_element": "queries:array_get",
    "array.update_element": "queries:array_update",
    "prefetch.make_context": "queries:handle",
    "system.reserve_buffer": "queries:handle",
    "system.task_dummy": "queries:task",
    "system.task_invalid": "queries:no_task",
    "system.task_is_valid": "queries:is_task",
}

HINTS = ("prefetch.async_prefetch",)
"""Operators that neither compute nor order anything."""

ORDER_ONLY = tuple(
    f"system.{name}"
    for name in _names(
        "sync_src sync_dst sync_set sync_wait bar_v bar_m bar_all fence cacheinvalid syncall set_ffts"
    )
)
"""Operators that compute nothing, but order those around them."""

# Operators that don't simply touch all that is valid, by the function that says what they touch.
_TOUCHES: dict[str, tuple[str, ...]] = {
    "load": ("tile.load",),
    "store": ("tile.store",),
    "assemble": ("tile.assemble",),
    "create": ("tile.create",),
    "spread": _names("tile.row_expand tile.col_expand tile.expands"),
    "extract": ("tile.extract",),
    "read": ("tile.read",),
    "write": ("tile.write",),
    "gather_row": ("tile.gather_row",),
    "matmul": _names("tile.matmul tile.matmul_bias tile.gemv tile.gemv_bias tile.batch_matmul"),
    "matmul_acc": _names("tile.matmul_acc tile.gemv_acc tile.batch_matmul_acc"),
}


def meanings() -> dict[str, str]:
    """Operator → ``"module:function"`` for every operator with a built-in meaning."""
    table: dict[str, str] = {}
    for family, names in _BOTH.items():
        for name in names:
            table |= {f"{space}.{name}": f"{_PACKAGE}.{family}:{name}" for space in ("tile", "tensor")}
    for family, names in _TILE.items():
        table |= {f"tile.{name}": f"{_PACKAGE}.{family}:{name}" for name in names}
    for name, target in _RENAMED.items():
        table |= {f"{space}.{name}": f"{_PACKAGE}.{target}" for space in ("tile", "tensor")}
    table |= {name: f"{_PACKAGE}.{target}" for name, target in _SINGLE.items()}
    table |= dict.fromkeys((*HINTS, *ORDER_ONLY), f"{_PACKAGE}.queries:nothing")
    return dict(sorted(table.items()))


def executors() -> tuple[OpExecutor, ...]:
    """The built-in meanings as a plugin registers them."""
    touches = {op: f"pypto_plugin_simulator.touches:{name}" for name, ops in _TOUCHES.items() for op in ops}
    return tuple(OpExecutor(name, target, touches.get(name)) for name, target in meanings().items())

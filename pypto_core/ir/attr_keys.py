"""Keys of attribute dictionaries that more than one package reads."""

from __future__ import annotations

PIPELINE_STAGES = "pipeline_stages"
PIPELINE_OVERLAP_STORES = "pipeline_overlap_stores"
PIPELINE_DOUBLE_BUFFER_C = "pipeline_double_buffer_c"
PIPELINE_MEMBERSHIP = "pipeline_membership"
CHUNK = "chunk"
TENSOR_TO_TILE_MAT_BRIDGE = "__compiler_tensor_to_tile_mat_bridge"
CORE_PLACEMENT = "core_placement"
ARG_DIRECTIONS = "arg_directions"
AUTO_SCOPE = "auto_scope"
SPLIT = "split"
SLOT_NUM = "slot_num"
AUTO_CHUNK = "auto_chunk"
EXTERNAL_SOURCE = "external_source"
BUFFER_IR_SELECTED = "buffer_ir_selected"
DEVICE = "device"

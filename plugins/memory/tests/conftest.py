from __future__ import annotations

import sys
from pathlib import Path

# The helpers beside the tests are plain modules; no package, as every plugin has a folder of this name.
sys.path.insert(0, str(Path(__file__).parent))

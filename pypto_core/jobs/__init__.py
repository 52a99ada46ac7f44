"""Many kernels at once: over processes of this machine, any executor, or a cluster."""

from pypto_core.jobs.many import Outcome, compile_many
from pypto_core.jobs.workers import Workers, map_jobs, open_workers

__all__ = ["Outcome", "Workers", "compile_many", "map_jobs", "open_workers"]

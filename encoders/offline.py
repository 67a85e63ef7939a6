"""No library of models may open a connection or hold the cores: called before the first of them is imported."""

import os


def stay_offline() -> None:
    """Sets what huggingface_hub and transformers read when they are imported.

    By a hub name without a network they would retry for 80 s.
    """
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ["TRANSFORMERS_OFFLINE"] = "1"
    os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
    os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"
    share_cores()


def share_cores() -> None:
    """Sets what OpenMP reads when a library loads it."""
    # Threads that wait sleep instead of spinning: on two busy cores 21 chunks a CPU second against 7, and 10 a
    # second against 3.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

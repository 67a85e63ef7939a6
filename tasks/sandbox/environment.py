"""Environment: the variables that a child sees. What parses hostile files has no use for keys and passwords."""

import os
from collections.abc import Sequence

_NAMES = {
    *("PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TERM", "VIRTUAL_ENV", "LD_LIBRARY_PATH"),
    *("TESSDATA_PREFIX", "FONTCONFIG_FILE", "FONTCONFIG_PATH", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"),
    *("HF_HOME", "HF_HUB_CACHE", "HF_HUB_OFFLINE", "TRANSFORMERS_CACHE", "TRANSFORMERS_OFFLINE"),
    *("SENTENCE_TRANSFORMERS_HOME", "TORCH_HOME", "CUDA_VISIBLE_DEVICES", "SOURCE_DATE_EPOCH"),
    *("COVERAGE_PROCESS_START", "COVERAGE_RCFILE"),
}
_PREFIXES = ("LC_", "PYTHON", "OMP_", "KMP_", "MKL_", "OPENBLAS_", "NUMEXPR_", "MALLOC_")


def passed(further: Sequence[str] = ()) -> dict[str, str]:
    """Those of this process's variables that a child gets; `further` names more, for extractors of the user's own."""
    wanted = _NAMES | set(further)
    return {name: value for name, value in os.environ.items() if name in wanted or name.startswith(_PREFIXES)}

"""Which folder ``solutions.stageK_name`` means: one rule for graders, notebooks and scripts.

Every file of the course is imported under one name, ``solutions.<stage>.<file>``,
whichever tree it comes from, so there is one Tensor class and one module in a process.
"""

import sys
from collections.abc import Mapping
from importlib.machinery import ModuleSpec
from pathlib import Path

PACKAGE = "solutions"


class StageFinder:
    """Finds the stage packages in the folders it was given; the files inside are Python's business.

    A stage without a folder does not exist: an import of it fails.
    """

    def __init__(self, folders: Mapping[str, Path]):
        self.folders = dict(folders)

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Answer for ``solutions`` and ``solutions.<stage>``, as packages without code of their own."""
        package, _, stage = name.partition(".")
        if package != PACKAGE or "." in stage:
            return None
        if stage and stage not in self.folders:
            raise ModuleNotFoundError(f"{name} is not part of this stack", name=name)
        spec = ModuleSpec(name, None, is_package=True)
        spec.submodule_search_locations = [str(self.folders[stage])] if stage else []
        return spec


def serves(folders: Mapping[str, Path]) -> bool:
    """Say whether ``solutions.*`` means `folders` already."""
    return any(isinstance(f, StageFinder) and f.folders == folders for f in sys.meta_path)


def install(folders: Mapping[str, Path]) -> None:
    """Make ``solutions.*`` mean `folders` from now on, forgetting what was imported under that name."""
    for name in [n for n in sys.modules if n == PACKAGE or n.startswith(PACKAGE + ".")]:
        del sys.modules[name]
    sys.meta_path[:] = [f for f in sys.meta_path if not isinstance(f, StageFinder)]
    sys.meta_path.insert(0, StageFinder(folders))

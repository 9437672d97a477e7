"""Which modules import each other, in all packages."""

from __future__ import annotations

from graphlib import TopologicalSorter


def test_no_module_imports_itself_through_others() -> None:
    """Imports for types only count too: a reader follows them as any other."""
    # Imported here, as every process of `make test` would have to load them.
    import grimp
    from importlinter.api import read_configuration
    from importlinter.configuration import configure

    configure()
    packages = read_configuration("pyproject.toml")["session_options"]["root_packages"]
    graph = grimp.build_graph(*packages)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    TopologicalSorter(imports).prepare()

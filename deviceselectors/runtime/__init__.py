"""Evaluation of type-checked CEL expressions on devices.

`program.program(compiled)` gives the program of a compiled expression, `device.prepare_device(json, driver)` a device to
evaluate it on; `Program.matches` and `Program.attribute` give the result, `Program.evaluate` the cost as well.

`values` and `operators` are the language, the modules named after libraries their functions, `functions` and `costs` the
tables of them. `planning` finds constants, `generator` (with `accesses` and `literals`) makes the exact variant of a
program as a tree of Python's, `fastpath` the fast one, for what `bounds` shows to be cheap; `trees` has the shapes that both
use, `writer` makes bytecode of them, and `verifier` looks at that before it is run.
"""

"""Evaluation of type-checked CEL expressions on devices.

`program.program(compiled)` gives the program of a compiled expression, `device.prepare_device(json, driver)` a device to
evaluate it on; `Program.matches` and `Program.attribute` give the result, `Program.evaluate` the cost as well.

`values` and `operators` are the language, the modules named after libraries their functions, `functions` and `costs` the
tables of them. `planning` finds constants, `generator` (with `emitter`, `accesses`, `literals`) writes the exact variant
of a program as Python source, `fastpath` the fast one, for what `bounds` shows to be cheap.
"""

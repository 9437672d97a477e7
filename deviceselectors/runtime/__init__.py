"""Evaluation of type-checked CEL expressions on devices.

`program.program(compiled)` gives the program of a compiled expression, `device.prepare_device(json, driver)` a device to
evaluate it on; `Program.matches` and `Program.attribute` give the result, `Program.evaluate` the cost as well.

`values` and `operators` are the language; its functions are in `deviceselectors.libraries`. `planning` finds constants,
`bounds` what an evaluation can cost, and `evaluator` makes nested closures of the nodes: `closures` has what they have in
common, `accesses` and `calls` make those of fields and of calls.
"""

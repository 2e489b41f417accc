"""Side-by-side measurements: `python -m benchmarks NAME [--json F]`, from the repository's root.

A benchmark is a module of this package, named in `__main__.NAMES`, with

* `PACKAGES`: the distributions whose versions belong to the result;
* `run()`: yields a `report.Row` for each thing measured, and lines of text that explain them.

Both sides of a row do the same work in one process, in turns; the module checks that they agree
before it compares their speed. `measure` holds the stopwatch, `report` what is printed.
"""

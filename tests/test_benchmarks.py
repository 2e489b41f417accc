"""The benchmarks measure what they say, on small settings: never how fast."""

import gc
import json
import random
import sys

import pytest
from click.testing import CliRunner

from benchmarks import __main__ as command
from benchmarks import measure, mlp, pytorch, report, scalar, tensor

QUICK = {"points": 8, "hidden": 3, "turns": 2, "steps": 1, "chain": 500}


@pytest.fixture
def quick(monkeypatch):
    """Let the command line run the scalar benchmark on its small setting."""
    full = scalar.run
    monkeypatch.setattr(scalar, "run", lambda: full(**QUICK))


@pytest.fixture
def no_micrograd(monkeypatch):
    for module in ["micrograd", "micrograd.engine", "micrograd.nn"]:
        monkeypatch.setitem(sys.modules, module, None)


def invoke(*arguments):
    return CliRunner().invoke(command.main, arguments)


def check_schema(rows, count=5):
    assert len(rows) == count
    for row in rows:
        assert list(row) == ["name", "ours", "theirs", "ratio", "unit"]
        assert isinstance(row["name"], str)
        assert row["ours"] > 0
        assert row["unit"] in {"ms", "s", "MB"}
        if row["theirs"] is None:
            assert row["ratio"] is None
        else:
            assert row["ratio"] == row["ours"] / row["theirs"]


def test_json_on_standard_output_is_nothing_but_json(quick):
    result = invoke("scalar", "--json", "-")
    assert result.exit_code == 0
    check_schema(json.loads(result.stdout))
    for word in ["processor", "Python", "BLAS kernel", "moons step, weighted_sum", "ours is"]:
        assert word in result.stderr


def test_json_in_a_file_and_the_table_on_standard_output(quick, tmp_path):
    result = invoke("scalar", "--json", str(tmp_path / "rows.json"))
    assert result.exit_code == 0
    rows = json.loads((tmp_path / "rows.json").read_text(encoding="utf-8"))
    check_schema(rows)
    for row in rows:
        assert row["name"] in result.stdout


def test_an_unknown_name_is_one_sentence_with_the_known_ones():
    result = invoke("scalr")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert (
        result.stderr
        == "Error: there is no benchmark 'scalr'; the known ones: scalar, tensor, mlp.\n"
    )


def test_a_file_that_cannot_be_written_is_refused_before_anything_runs(tmp_path):
    result = invoke("scalar", "--json", str(tmp_path / "missing" / "rows.json"))
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "No such file" in result.stderr


def test_without_micrograd_there_is_no_counterpart_and_one_line_says_how_to_get_it(
    quick, no_micrograd
):
    result = invoke("scalar", "--json", "-")
    assert result.exit_code == 0
    rows = json.loads(result.stdout)
    check_schema(rows)
    assert [row["theirs"] for row in rows] == [None] * 5
    assert result.stderr.count("pip install micrograd") == 1


def test_with_micrograd_the_steps_have_a_counterpart_and_the_long_chain_has_none(quick):
    pytest.importorskip("micrograd", reason="compares with micrograd: pip install micrograd")
    result = invoke("scalar", "--json", "-")
    rows = json.loads(result.stdout)
    assert [row["theirs"] is None for row in rows] == [False] * 4 + [True]
    assert "micrograd on a chain of 20,000 nodes: RecursionError" in result.stderr


def test_every_side_has_the_same_losses_and_they_fall():
    pytest.importorskip("micrograd", reason="compares with micrograd: pip install micrograd")
    sides = scalar.trainings([2, 16, 16, 1], 40, scalar.load_micrograd())
    assert len(sides) == 3
    losses = measure.agreed_losses(sides, steps=4)
    assert losses[-1] < losses[0]


def test_sides_that_disagree_are_not_compared(monkeypatch):
    monkeypatch.setattr(scalar, "trainings", lambda *_: [lambda: 1.0, lambda: 1.0 + 1e-6])
    result = invoke("scalar")
    assert result.exit_code == 3
    assert result.stderr == (
        "Error: in step 1 the sides have different losses: [1.0, 1.000001]; nothing was compared.\n"
    )


def test_the_moons_are_two_balanced_half_circles():
    points, labels = scalar.two_moons(100, random.Random(0))
    assert sum(labels) == 0
    assert len(points) == len(labels) == 100
    upper = [y for (_, y), label in zip(points, labels, strict=True) if label == 1]
    lower = [y for (_, y), label in zip(points, labels, strict=True) if label == -1]
    assert sum(upper) / 50 > 0.4  # the mean height of a half circle is 2 / pi
    assert sum(lower) / 50 < 0.1
    assert scalar.two_moons(100, random.Random(0)) == (points, labels)


def test_the_sides_take_turns_and_the_order_is_reversed():
    calls = []
    sides = [lambda: calls.append("a"), lambda: calls.append("b")]
    seconds = measure.alternate(sides, turns=2, steps=2, warm_up=1)
    assert "".join(calls) == "aaabbb" + "bbbaaa"
    assert len(seconds) == 2


@pytest.mark.parametrize("collecting", [True, False])
def test_the_collector_is_as_asked_during_a_step_and_as_before_afterwards(collecting):
    seen = []
    for before in [True, False]:
        with measure.collector(before):
            measure.mean_step(lambda: seen.append(gc.isenabled()), 2, collecting=collecting)
            assert gc.isenabled() is before
    assert seen == [collecting] * 4


def test_a_row_says_how_many_times_as_fast_ours_is():
    assert (
        report.Row("step", 20.0, 50.0, "ms").line().endswith("20 ms     50 ms   2.50 times as fast")
    )
    assert report.Row("peak", 2.0, 5.0, "MB").line().endswith("   0.40 times as large")
    assert report.Row("chain", 3.25, None, "s").line().endswith("3.25 s         -   -")


def test_the_surroundings_name_versions_and_say_what_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "threadpoolctl", None)
    lines = report.environment(["click", "no-such-distribution"])
    assert f"click {report.version('click')}, no-such-distribution not installed" in lines[2]
    assert lines[3] == "BLAS kernel  n/a"


# Beside PyTorch.

TENSOR = {"rows": 8, "columns": 12, "images": 2, "turns": 1, "steps": 1}
MLP = {"sizes": (12, 8, 4), "batches": (6,), "turns": 1, "steps": 1}


@pytest.fixture
def quick_torch(monkeypatch):
    """Let the command line run the benchmarks beside PyTorch on small settings."""
    for module, settings in ((tensor, TENSOR), (mlp, MLP)):
        full = module.run
        monkeypatch.setattr(module, "run", lambda full=full, settings=settings: full(**settings))


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="compares with PyTorch: pip install -e '.[compare]'")


def test_every_operation_has_a_row_and_a_counterpart(quick_torch, torch):
    result = invoke("tensor", "--json", "-")
    assert result.exit_code == 0, result.output
    rows = json.loads(result.stdout)
    check_schema(rows, 28)
    assert all(row["theirs"] > 0 for row in rows)
    assert "one for each side" in result.stderr
    assert "times their time" in result.stderr


def test_every_operation_has_the_result_and_the_gradients_of_pytorch(torch):
    for case in tensor.cases(16, 24, 2, torch):
        ours, theirs = (side() for side in tensor.sides_of(case, torch))
        assert len(ours) == len(theirs) == 1 + len(case.operands)
        tensor.check(case.name, [ours, theirs])


def test_an_operation_that_disagrees_is_not_compared(quick_torch, torch, monkeypatch):
    monkeypatch.setattr(tensor.Tensor, "exp", lambda self: self * 2)
    result = invoke("tensor")
    assert result.exit_code == 3
    assert result.stderr.startswith("Error: exp: the result differs by ")


def test_steps_products_and_memory_have_a_row_for_each_batch(quick_torch, torch):
    result = invoke("mlp", "--json", "-")
    assert result.exit_code == 0, result.output
    rows = json.loads(result.stdout)
    assert [row["name"] for row in rows] == [
        "step, batch 6, CPU time, one thread",
        "products, batch 6, CPU time, one thread",
        "step, batch 6, two threads",
        "products, batch 6, two threads",
        "peak memory, batch 6, fresh process",
        "peak memory, batch 6, after one sample",
    ]
    check_schema(rows, 6)
    assert all(row["theirs"] > 0 for row in rows)


def test_both_networks_have_the_same_losses_and_weights(torch):
    ours, theirs = mlp.trainings((12, 8, 4), 6, torch)
    losses = measure.agreed_losses([ours.step, theirs.step], steps=10, tolerance=1e-5)
    assert losses[-1] < losses[0]
    for p, q in zip(ours.parameters, theirs.parameters, strict=True):
        assert abs(p.data - q.detach().numpy()).max() < 1e-5


@pytest.mark.parametrize(("name", "count"), [("tensor", 28), ("mlp", 6)])
def test_without_pytorch_one_line_says_how_to_get_it(quick_torch, monkeypatch, name, count):
    monkeypatch.setitem(sys.modules, "torch", None)
    result = invoke(name, "--json", "-")
    assert result.exit_code == 0, result.output
    rows = json.loads(result.stdout)
    assert [row["theirs"] for row in rows] == [None] * count
    assert result.stderr.count("pip install -e '.[compare]'") == 1


def test_both_sides_have_as_many_threads_inside_the_block_and_as_before_afterwards(torch):
    pools = pytest.importorskip("threadpoolctl").threadpool_info
    before = torch.get_num_threads()
    with pytorch.threads(1, torch):
        assert torch.get_num_threads() == 1
        assert {p["num_threads"] for p in pools() if p["user_api"] == "blas"} == {1}
    assert torch.get_num_threads() == before


def test_the_peak_counts_what_is_freed_before_the_end():
    grown = measure.peak_growth(lambda: len(bytearray(50_000_000).hex()) * 0)
    assert grown > 50_000_000


def test_settled_lets_the_collector_pass_and_undoes_it():
    with measure.settled():
        assert gc.get_freeze_count() > 0
    assert gc.get_freeze_count() == 0

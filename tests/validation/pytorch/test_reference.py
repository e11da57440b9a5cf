# SPDX-License-Identifier: MIT
"""The tracker against sizes counted by hand."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from memory_reference import attention, cases, fake_gpu, optimizers
from memory_reference.families import FAMILIES, Shape
from memory_reference.measure import Case, run
from memory_reference.saved import SavedTensorRecorder
from memory_reference.tracker import StorageTracker, rounded, storages

TOKENS, WIDTH, INNER = 32, 64, 256


@pytest.fixture(scope="session", autouse=True)
def _gpu() -> None:
    fake_gpu.install()
    torch.autograd.set_multithreading_enabled(False)


@pytest.fixture(params=["cuda", "cpu"])
def tracked(request):
    """A device (fake cuda, real cpu) and a running tracker for it."""
    if request.param == "cpu":
        with StorageTracker("cpu") as tracker:
            yield "cpu", tracker
    else:
        with fake_gpu.fake_tensors(), StorageTracker("cuda") as tracker:
            yield "cuda", tracker


def test_a_linear_holds_its_weight_and_bias_and_saves_only_its_input(tracked):
    device, tracker = tracked
    layer = nn.Linear(WIDTH, INNER, device=device)
    assert tracker.live == 4 * (WIDTH * INNER + INNER)
    x = torch.ones(TOKENS, WIDTH, device=device)
    start = tracker.live
    y = layer(x)
    assert tracker.live - start == 4 * TOKENS * INNER
    loss = y.sum()
    del y
    assert tracker.live - start == 4  # the scalar; x was there before
    loss.backward()
    del loss
    assert tracker.live - start == 4 * (WIDTH * INNER + INNER)  # one gradient for each parameter


def test_views_cost_nothing_and_copies_do(tracked):
    device, tracker = tracked
    x = torch.ones(8, 16, device=device)
    start = tracker.live
    views = (x.t(), x[2:], x.view(4, 32), x.expand(3, 8, 16), x.add_(1))
    assert tracker.live == start
    copy = x.t().contiguous()
    assert tracker.live - start == 4 * 8 * 16
    del views, copy
    assert tracker.live == start


def test_a_gated_mlp_saves_input_gate_up_silu_and_product(tracked):
    device, tracker = tracked
    gate, up = (nn.Linear(WIDTH, INNER, bias=False, device=device) for _ in range(2))
    down = nn.Linear(INNER, WIDTH, bias=False, device=device)
    x = torch.ones(TOKENS, WIDTH, device=device)
    start = tracker.live
    y = down(F.silu(gate(x)) * up(x))
    saved_and_result = tracker.live - start
    assert saved_and_result == 4 * TOKENS * (4 * INNER + WIDTH)  # gate, silu(gate), up, product; the result


def test_peaks_are_kept_for_each_phase(tracked):
    device, tracker = tracked
    start = tracker.live
    tracker.phase("first")
    x = torch.ones(1000, device=device)
    y = x * 2
    del y
    tracker.phase("second")
    z = x * 3
    del x
    tracker.phase("third")
    assert tracker.peak["first"] - start == 8000
    assert tracker.peak["second"] - start == 8000
    assert tracker.peak["third"] - start == 4000
    del z


def test_the_rounded_count_is_that_of_512_byte_blocks(tracked):
    device, tracker = tracked
    start = tracker.live_rounded
    x = torch.ones(3, device=device)
    y = torch.ones(129, device=device)
    assert tracker.live_rounded - start == 512 + 1024
    del x, y
    assert rounded(0) == 0 and rounded(512) == 512 and rounded(513) == 1024


def test_gradients_that_meet_are_summed_in_place(tracked):
    device, tracker = tracked
    x = torch.ones(1000, device=device, requires_grad=True)
    y = x * 2.0
    loss = (y * 2.0 + y * 3.0).sum()
    del y
    start = tracker.live
    tracker.phase("backward")
    loss.backward()
    assert tracker.peak["backward"] - start == 2 * 4000 + 4  # never a third array; the gradient of the loss


def test_checkpointing_keeps_the_input_only(tracked):
    device, tracker = tracked
    block = nn.Sequential(*(nn.Sequential(nn.Linear(WIDTH, WIDTH, device=device), nn.GELU()) for _ in range(4)))
    x = torch.ones(TOKENS, WIDTH, device=device)
    start = tracker.live
    y = checkpoint(block, x, use_reentrant=False)
    assert tracker.live - start == 4 * TOKENS * WIDTH  # y


@pytest.mark.parametrize(("name", "bytes_per_parameter"), [
    ("sgd", 0), ("sgd_momentum", 4), ("adamw", 8), ("adamw_loop", 8), ("adamw_fused", 8), ("adagrad", 4),
    ("rmsprop", 4), ("nadam", 8), ("radam", 8), ("lion", 4)])
def test_optimizers_keep_whole_copies_of_each_parameter(name, bytes_per_parameter):
    with fake_gpu.fake_tensors(), StorageTracker("cuda") as tracker:
        layer = nn.Linear(WIDTH, INNER, device="cuda")
        layer(torch.ones(TOKENS, WIDTH, device="cuda")).sum().backward()
        start = tracker.live
        optimizer = optimizers.make(name, layer)
        optimizer.step()
        counters = 4 * len(list(layer.parameters())) if name == "adamw_fused" else 0  # step counts on the device
        assert tracker.live - start == bytes_per_parameter * (WIDTH * INNER + INNER) + counters


def test_foreach_adamw_needs_one_copy_of_all_parameters_while_it_steps():
    with fake_gpu.fake_tensors(), StorageTracker("cuda") as tracker:
        layers = nn.Sequential(*(nn.Linear(WIDTH, WIDTH, bias=False, device="cuda") for _ in range(4)))
        layers(torch.ones(TOKENS, WIDTH, device="cuda")).sum().backward()
        optimizer = optimizers.make("adamw", layers)
        optimizer.step()
        start = tracker.live
        tracker.phase("step")
        optimizer.step()
        assert tracker.peak["step"] - start == 4 * 4 * WIDTH * WIDTH


def test_autocast_keeps_a_half_copy_of_each_weight_until_backward():
    with fake_gpu.fake_tensors(), StorageTracker("cuda") as tracker:
        layer = nn.Linear(WIDTH, INNER, bias=False, device="cuda")
        x = torch.ones(TOKENS, WIDTH, device="cuda")
        start = tracker.live
        with torch.autocast("cuda", dtype=torch.bfloat16):
            y = layer(x)
        assert y.dtype == torch.bfloat16
        # The half input for the weight's gradient; nothing needs the half weight, for x needs no gradient.
        assert tracker.live - start == 2 * TOKENS * INNER + 2 * TOKENS * WIDTH
        del y
        x.requires_grad_(True)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            y = layer(x)
        assert tracker.live - start == 2 * TOKENS * INNER + 2 * TOKENS * WIDTH + 2 * WIDTH * INNER


@pytest.mark.parametrize(("kwargs", "kernel"), [
    ({}, "flash"), ({"dtype": torch.float32}, "efficient"), ({"capability": (9, 0)}, "cudnn"),
    ({"mask": True}, "efficient"), ({"dtype": torch.float32, "kv_heads": 2}, "math"), ({"kv_heads": 2}, "flash"),
    ({"head_dim": 256, "capability": (9, 0)}, "flash"), ({"head_dim": 512}, "efficient")])
def test_the_attention_kernel_is_the_one_pytorch_prefers(kwargs, kernel):
    heads, kv_heads, dim = 8, kwargs.get("kv_heads", 8), kwargs.get("head_dim", 64)
    dtype = kwargs.get("dtype", torch.bfloat16)
    with fake_gpu.fake_tensors():
        query = torch.ones(1, heads, 16, dim, dtype=dtype, device="cuda")
        key = torch.ones(1, kv_heads, 16, dim, dtype=dtype, device="cuda")
        mask = torch.ones(1, 1, 16, 16, dtype=torch.bool, device="cuda") if kwargs.get("mask") else None
        chosen = attention.choose_kernel(query, key, key, mask, 0.0, mask is None, kv_heads != heads,
                                         kwargs.get("capability", (8, 0)))
    assert chosen == kernel


def test_flash_attention_saves_q_k_v_out_and_one_fp32_number_per_row():
    batch, heads, kv_heads, tokens, dim = 2, 8, 2, 64, 32
    with fake_gpu.fake_tensors(), StorageTracker("cuda") as tracker:
        q = torch.ones(batch, heads, tokens, dim, dtype=torch.bfloat16, device="cuda", requires_grad=True)
        k, v = (torch.ones(batch, kv_heads, tokens, dim, dtype=torch.bfloat16, device="cuda", requires_grad=True)
                for _ in range(2))
        start = tracker.live
        out = attention.attention_for((8, 0))(q, k, v, is_causal=True, enable_gqa=True)
        state = 2 * 8 + 8  # the random generator's seed and offset
        assert tracker.live - start == batch * heads * tokens * (2 * dim + 4) + state
        del out


def test_what_the_hooks_see_is_what_stays_alive():
    with fake_gpu.fake_tensors(), StorageTracker("cuda") as tracker:
        model = nn.Sequential(nn.Linear(WIDTH, INNER, device="cuda"), nn.GELU(), nn.Linear(INNER, 1, device="cuda"))
        x = torch.ones(TOKENS, WIDTH, device="cuda")
        recorder = SavedTensorRecorder(model, "cuda", set(storages([*model.parameters(), x])))
        start = tracker.live
        with recorder.recording():
            loss = model(x).sum()
        saved = recorder.result(loss)
        assert [(t.path, t.operators, t.bytes) for t in saved] == [
            ("1", "Gelu", 4 * TOKENS * INNER), ("2", "Addmm", 4 * TOKENS * INNER)]
        assert tracker.live - start == sum(t.bytes for t in saved) + 4


def test_a_llama_layer_saves_what_one_counts_by_hand():
    """Pure bf16, flash attention: per token, norms 2 (4h + 4 + 2h + 2h), attention and MLP as listed."""
    shape = Shape(hidden=256, layers=3, heads=8, kv_heads=2, head_dim=32, intermediate=512, vocab=1000)
    batch, tokens = 2, 64
    attention.install((8, 0))
    with fake_gpu.fake_tensors():
        row = run(Case("llama", shape, batch=batch, sequence=tokens), "cuda").row
    h, f, v, q, kv = shape.hidden, shape.intermediate, shape.vocab, 256, 64
    norm = 4 * h + 4 + 2 * h  # fp32 input, fp32 1/rms, bf16 normalised
    layer = 2 * norm + 2 * 2 * h + 2 * (q + 2 * kv) + 2 * q + 4 * shape.heads + 4 * 2 * f
    per_token = shape.layers * layer + norm + 2 * h + 4 * v
    rope = 2 * 2 * tokens * shape.head_dim
    flash_state = shape.layers * 24
    labels = 8 * batch * tokens  # shifted: a copy, for they are not contiguous
    expected = batch * tokens * per_token + rope + flash_state + labels + 4 + 4  # the count of tokens, the loss
    assert row["saved_activation_bytes"] == expected
    assert row["saved_by_hook_bytes"] == expected - 4
    assert row["attention_kernel"] == "flash"


def test_real_tensors_on_the_cpu_and_fake_ones_on_a_gpu_agree():
    shape = Shape(hidden=64, layers=2, heads=4, kv_heads=2, head_dim=16, intermediate=128, vocab=100)
    case = Case("llama", shape, attention="eager", precision="fp32", optimizer="sgd_momentum", batch=2, sequence=16)
    real = run(case, "cpu").row
    with fake_gpu.fake_tensors():
        fake = run(case, "cuda").row
    for column in ("saved_activation_bytes", "gradient_bytes", "optimizer_bytes", "forward_peak_1_bytes",
                   "loss_peak_1_bytes", "backward_peak_1_bytes"):
        assert abs(real[column] - fake[column]) <= 64, column  # a few scalars live on the host


def test_every_case_has_its_own_name_and_a_known_family():
    found = cases.all_cases()
    assert len(found) >= 400
    assert len({c.run_id for c in found}) == len(found)
    assert {c.family for c in found} == set(FAMILIES)


def test_the_tracked_documents_are_those_that_the_tracked_rows_make():
    made = subprocess.run([sys.executable, "job_documents.py"], check=True, capture_output=True, text=True).stdout
    assert made == pathlib.Path("../data/pytorch_jobs.jsonl").read_text()

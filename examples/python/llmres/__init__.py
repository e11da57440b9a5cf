# SPDX-License-Identifier: MIT
"""Does an LLM job fit on these GPUs, in which layout, how fast, and what limits it?

>>> import llmres
>>> plan = llmres.plan("llama-3.1-8b", "rtx-4090", context=8192, batch=8, runtime="vllm")
>>> plan.verdict
'does_not_fit'
>>> plan.limits.max_batch
4
"""

from __future__ import annotations

import base64
import ctypes
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Union, cast

__all__ = ["Limits", "Memory", "Plan", "RefusedError", "Speed", "ask", "plan", "version"]

Verdict = Literal["fits", "tight", "does_not_fit"]
Model = Union[str, "os.PathLike[str]", Mapping[str, Any]]


def _load() -> ctypes.CDLL:
    library = ctypes.CDLL(str(next(Path(__file__).parent.glob("*llmres_c*.*"))))
    library.llmres_ask.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p)]
    library.llmres_free.argtypes = [ctypes.c_void_p]
    library.llmres_version.restype = ctypes.c_char_p
    if library.llmres_c_api() != 1:
        raise ImportError(f"libllmres_c has the interface {library.llmres_c_api()}; expected 1")
    return library


_library = _load()


def version() -> str:
    """Tell the version of llmres: "0.1.0"."""
    return cast(bytes, _library.llmres_version()).decode()


class RefusedError(ValueError):
    """Input that is refused: which field, what it held, and what was expected of it."""

    def __init__(self, error: Mapping[str, str]) -> None:
        """Take the error of an answer."""
        super().__init__(error["text"])
        self.code = error["code"]
        self.field = error["field"]
        self.value = error["value"]
        self.expected = error["expected"]


def ask(command: str, document: Mapping[str, Any] | None = None) -> Any:
    """Answer a command about a document, as examples/c_api/llmres.h describes them ("plan", "search", "gpus", ...)."""
    answer = ctypes.c_void_p()
    status = _library.llmres_ask(command.encode(), json.dumps(document or {}).encode(), ctypes.byref(answer))
    if not answer.value:
        raise MemoryError("llmres had no memory for an answer")
    try:
        said = json.loads(ctypes.string_at(answer.value))
    finally:
        _library.llmres_free(answer)
    if status != 0:
        raise RefusedError(said["error"])
    return said


@dataclass(frozen=True)
class Memory:
    """Bytes of the busiest GPU."""

    low: int
    expected: int
    high: int
    usable: int
    phase: str
    terms: Mapping[str, int]


@dataclass(frozen=True)
class Speed:
    """Tokens per second in all, and seconds; None where a job has no such time."""

    tokens_per_second: float
    mfu: float
    bottleneck: str
    step: float | None
    time_to_first_token: float | None
    time_per_output_token: float | None


@dataclass(frozen=True)
class Limits:
    """The largest batch (of training: micro-batch) and context, and the fewest GPUs; None where nothing fits."""

    max_batch: int | None
    max_context: int | None
    min_gpus: int | None


@dataclass(frozen=True)
class Plan:
    """The answer to a job; `document` is all of it, as `llmres plan --json` prints it."""

    verdict: Verdict
    layout: Mapping[str, Any]
    memory: Memory
    speed: Speed
    limits: Limits
    reasons: tuple[str, ...]
    would_help: tuple[str, ...]
    assumed: Mapping[str, Any]
    job: Mapping[str, Any] = field(repr=False)
    document: Mapping[str, Any] = field(repr=False)

    @property
    def fits(self) -> bool:
        """Whether it fits even where every estimate is at its upper bound."""
        return self.verdict == "fits"

    def pictures(self) -> dict[str, str]:
        """Draw the plan: SVG by name ("workload", "memory", "phases", "layers", "roofline", "tradeoff")."""
        return cast("dict[str, str]", ask("pictures", self.job))

    def _repr_html_(self) -> str:
        """Show the pictures in a notebook; as images, so that their styles stay their own."""
        drawn = ((name, base64.b64encode(svg.encode()).decode()) for name, svg in self.pictures().items())
        return "".join(f'<img alt="{name}" src="data:image/svg+xml;base64,{svg}"><br>' for name, svg in drawn)


def plan(
    model: Model,
    gpu: str | None = None,
    *,
    gpus: int | None = None,
    task: Literal["serving", "pretraining", "finetuning"] | None = None,
    runtime: str | Mapping[str, Any] | None = None,
    layout: Mapping[str, Any] | None = None,
    cluster: Mapping[str, Any] | None = None,
    **fields: Any,
) -> Plan:
    """Plan a job; other fields are keys of a job document (`batch`, `context`, `sequence`, `adapter`, ...).

    `model` is a name, the content of a config.json, or the path of one. Raises RefusedError for what is wrong.
    """
    machine = dict(cluster or {})
    machine.update({key: value for key, value in (("gpu", gpu), ("gpus", gpus)) if value is not None})
    job: dict[str, Any] = {"model": _model(model), "cluster": machine, **fields}
    chosen = (("task", task), ("runtime", runtime), ("layout", layout))
    job.update({key: value for key, value in chosen if value is not None})
    said = ask("plan", job)
    memory, time = said["memory"], said["time"]
    held = memory.get("needed", memory)  # what the job takes, where the runtime reserves more
    return Plan(
        verdict=said["verdict"],
        layout=said["layout"],
        memory=Memory(held["low"], held["expected"], held["high"], memory["usable"], memory["phase"], memory["terms"]),
        speed=Speed(
            time["tokens_per_second"],
            time["mfu"],
            said["bottleneck"],
            time.get("step"),
            time.get("time_to_first_token"),
            time.get("time_per_output_token"),
        ),
        limits=Limits(**said["limits"]),
        reasons=tuple(reason["text"] for reason in said["reasons"]),
        would_help=tuple(help if isinstance(help, str) else help["text"] for help in said["would_help"]),
        assumed=said["assumed"],
        job=job,
        document=said,
    )


def _model(model: Model) -> str | dict[str, Any]:
    if isinstance(model, Mapping):
        return dict(model)
    path = Path(model)
    if path.is_dir() and (path / "config.json").is_file():
        path = path / "config.json"
    if path.suffix == ".json" and path.is_file():
        return cast("dict[str, Any]", json.loads(path.read_text(encoding="utf-8")))
    return str(model)

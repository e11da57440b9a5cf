# SPDX-License-Identifier: MIT
"""What the package promises: python -m unittest test_llmres (after pip install)."""

import base64
import doctest
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import llmres

CONFIG = Path(__file__).resolve().parents[2] / "tests/data/configs/tiny-llama/config.json"


class Llmres(unittest.TestCase):
    """The package as a user has it."""

    def test_example(self) -> None:
        """The example of the documentation says what it shows."""
        self.assertEqual(doctest.testmod(llmres).failed, 0)

    def test_fields(self) -> None:
        """A plan has typed fields, whose terms add up."""
        plan = llmres.plan("llama-3.1-70b", "h100-sxm5-80gb", gpus=8, runtime="vllm", context=8192, batch=4)
        self.assertTrue(plan.fits)
        self.assertLess(plan.memory.low, plan.memory.high)
        self.assertGreater(plan.speed.tokens_per_second, 0)
        self.assertIsNone(plan.speed.step)
        self.assertIsNotNone(plan.speed.time_per_output_token)
        self.assertEqual(plan.document["verdict"], "fits")
        self.assertEqual(plan.assumed["weights"], "bf16")
        self.assertNotIn("context", plan.assumed)

    def test_training(self) -> None:
        """A training job has the time of a step, and reasons and remedies where it does not fit."""
        plan = llmres.plan("llama-3.1-70b", "rtx-4090", task="finetuning", sequence=4096, runtime="huggingface")
        self.assertEqual(plan.verdict, "does_not_fit")
        self.assertIsNotNone(plan.speed.step)
        self.assertTrue(plan.reasons)

    def test_models(self) -> None:
        """A config.json is read from its path, its folder or its content."""
        said = [llmres.plan(model, "rtx-4090", context=512) for model in (CONFIG, str(CONFIG), CONFIG.parent)]
        self.assertEqual(len({plan.memory.expected for plan in said}), 1)

    def test_refusals(self) -> None:
        """What is wrong is named."""
        wrong: list[tuple[dict[str, Any], str]] = [
            ({"model": "llama-3.1-8c", "gpu": "h100"}, "llama-3.1-8b"),
            ({"model": "llama-3.1-8b", "gpu": "h100", "batch": "many"}, "many"),
            ({"model": "llama-3.1-8b", "gpu": "h100", "bach": 1}, "batch"),
            ({"model": "llama-3.1-8b"}, "gpu"),
        ]
        for job, word in wrong:
            with self.subTest(word), self.assertRaises(llmres.RefusedError) as refused:
                llmres.plan(**job)
            self.assertIn(word, str(refused.exception))
        with self.assertRaises(llmres.RefusedError) as refused:
            llmres.ask("guess")
        self.assertEqual(refused.exception.field, "command")

    def test_pictures(self) -> None:
        """A notebook shows pictures, which are XML."""
        plan = llmres.plan("qwen3-8b", "a100-sxm4-80gb", gpus=2, context=4096)
        shown = plan._repr_html_()
        self.assertEqual(list(plan.pictures()), ["memory", "phases", "layers", "roofline", "tradeoff"])
        self.assertEqual(shown.count("<img "), 5)
        for picture in shown.split("base64,")[1:]:
            ElementTree.fromstring(base64.b64decode(picture.split('"')[0]))

    def test_phases(self) -> None:
        """A policy that learns from rollouts has the memory of each phase, and a picture of them."""
        learned = llmres.plan("qwen2.5-1.5b", "h100-sxm5-80gb", gpus=4, task="grpo", runtime="verl", micro_batch=2)
        self.assertEqual([one["phase"] for one in learned.document["reinforcement"]["phases"]], ["rollout", "training"])
        self.assertEqual(next(iter(learned.pictures())), "workload")

    def test_threads(self) -> None:
        """Threads ask at once."""
        with ThreadPoolExecutor(8) as threads:
            batches = [1 + n % 2 for n in range(64)]
            plans = list(threads.map(lambda n: llmres.plan("qwen3-8b", "l40s", context=1024, batch=n), batches))
        self.assertEqual(len({plan.memory.expected for plan in plans}), 2)


if __name__ == "__main__":
    unittest.main()

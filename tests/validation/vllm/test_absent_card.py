# SPDX-License-Identifier: MIT
"""What vLLM learns of a card that is not there, and of a rank that is alone."""

import unittest

import absent_card
import torch
from vllm.platforms import current_platform


class Card(unittest.TestCase):
    def test_vllm_sees_each_card_of_the_table(self):
        for name, (called, capability, size, _) in absent_card.CARDS.items():
            absent_card.show(name)
            self.assertEqual(current_platform.get_device_name(), called)
            self.assertEqual(tuple(current_platform.get_device_capability()), capability)
            self.assertEqual(current_platform.get_device_total_memory(), size)
        self.assertEqual(current_platform.device_count(), absent_card.DEVICES)

    def test_tensors_of_the_card_and_of_a_model_have_no_memory(self):
        self.assertEqual(torch.empty(1 << 40, device="cuda").device.type, "meta")
        with torch.device("meta"):
            self.assertEqual(torch.zeros(1 << 40).device.type, "meta")
        self.assertEqual(torch.zeros(2).device.type, "cpu")


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: MIT
"""Reinforcement learning of language models by TRL's own trainers, pass by pass."""

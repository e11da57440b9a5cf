# SPDX-License-Identifier: MIT
"""Distillation of language models by TRL's own trainer, pass by pass."""

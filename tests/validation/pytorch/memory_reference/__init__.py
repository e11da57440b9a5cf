# SPDX-License-Identifier: MIT
"""What real PyTorch model classes hold in memory while they train, allocation by allocation.

All sizes are bytes. "Live" bytes are the bytes of the storages that exist on the device at that moment.
"""

# SPDX-License-Identifier: MIT
"""The builds of llama.cpp that are started, by the version of xllamacpp that ships them, and the settings."""
BUILDS = {"b5353": "0.1.16", "b6900": "0.2.4", "b9538": "2026.6.9538", "b11549": "2026.10.11549"}
SETTINGS = {
    "eager": {"context": 4096, "batch": 2048, "ubatch": 512, "parallel": 1, "flash_attention": False, "kv_cache": "f16"},
    "flash": {"context": 8192, "batch": 2048, "ubatch": 512, "parallel": 1, "flash_attention": True, "kv_cache": "f16"},
    "slots": {"context": 16384, "batch": 512, "ubatch": 256, "parallel": 4, "flash_attention": True,
              "kv_cache": "q8_0"},
    "wide": {"context": 2048, "batch": 2048, "ubatch": 1024, "parallel": 2, "flash_attention": False,
             "kv_cache": "f16"},
}

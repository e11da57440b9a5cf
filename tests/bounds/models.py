# SPDX-License-Identifier: MIT
"""Random models as a config.json says them, and what they hold by the modules of their architecture: nothing here is
read from the library."""

import dataclasses


@dataclasses.dataclass
class Model:
    kind: str
    config: dict
    layers: int
    hidden: int
    vocabulary: int
    dense: int  # parameters beside routed experts
    experts: int = 0  # parameters of routed experts
    count: int = 0  # of them in a layer
    matrix: int = 0  # of the largest matrix of a layer that a trainer gathers as one
    linear: int = 0  # inputs and outputs of all linear layers that an adapter may stand beside
    kv_values: int = 0  # cached for a token of one layer
    window: int = 0  # tokens that a layer sees at most; 0: all
    state_values: int = 0  # of a sequence, all layers

    @property
    def total(self):
        return self.dense + self.experts


def frame(kind, dice, layers, hidden, vocabulary, tied):
    return {"model_type": kind, "hidden_size": hidden, "num_hidden_layers": layers, "vocab_size": vocabulary,
            "max_position_embeddings": 131072, "tie_word_embeddings": tied}


def grouped(dice):
    """Heads, their width and the KV heads."""
    heads, width = dice.choice([8, 16, 24, 32, 40, 64]), dice.choice([64, 128])
    return heads, width, dice.choice([n for n in (1, 2, 4, 8, heads) if heads % n == 0])


def decoder(dice, kind, layers, hidden, vocabulary, tied, heads, width, kv_heads, biased=False, normed=False):
    """The config and the parameters of embedding, head and attention."""
    config = frame(kind, dice, layers, hidden, vocabulary, tied)
    config |= {"num_attention_heads": heads, "num_key_value_heads": kv_heads, "head_dim": width}
    q, kv = heads * width, kv_heads * width
    attention = 2 * hidden * q + 2 * hidden * kv + (q + 2 * kv if biased else 0) + (2 * width if normed else 0)
    shared = vocabulary * hidden * (1 if tied else 2) + hidden + layers * (attention + 2 * hidden)
    linear = layers * (2 * (hidden + q) + 2 * (hidden + kv))
    return config, shared, linear, kv


def dense(dice):
    """Llama, Mistral with a window, Qwen 2 with biases of queries, keys and values, Qwen 3 with norms of heads."""
    kind = dice.choice(["llama", "mistral", "qwen2", "qwen3"])
    heads, width, kv_heads = grouped(dice)
    hidden, layers = heads * width, dice.randint(4, 40)
    inner = 256 * dice.randint(max(1, hidden // 128), hidden // 64)
    vocabulary, tied = dice.choice([32000, 50304, 128256, 151936]), dice.random() < 0.3
    config, shared, linear, kv = decoder(dice, kind, layers, hidden, vocabulary, tied, heads, width, kv_heads,
                                         biased=kind == "qwen2", normed=kind == "qwen3")
    window = 0
    config["intermediate_size"] = inner
    if kind == "mistral":
        window = dice.choice([0, 1024, 4096])
        config["sliding_window"] = window or None
    return Model("window" if window else "dense", config, layers, hidden, vocabulary,
                 shared + layers * 3 * hidden * inner, matrix=hidden * inner,
                 linear=linear + layers * 3 * (hidden + inner), kv_values=2 * kv, window=window)


def routed(dice):
    """Mixtral and Qwen 3: every layer has a router and as many gated feed-forwards as experts."""
    kind = dice.choice(["mixtral", "qwen3_moe"])
    heads, width, kv_heads = grouped(dice)
    hidden, layers = heads * width, dice.randint(4, 32)
    vocabulary, tied = dice.choice([32000, 151936]), dice.random() < 0.2
    config, shared, _, kv = decoder(dice, kind, layers, hidden, vocabulary, tied, heads, width, kv_heads,
                                    normed=kind == "qwen3_moe")
    count = dice.choice([4, 8, 16] if kind == "mixtral" else [16, 64, 128])
    inner = 128 * dice.randint(2, 40 if kind == "mixtral" else 12)
    config |= {"num_experts_per_tok": 2, "intermediate_size": inner}
    if kind == "mixtral":
        config |= {"num_local_experts": count, "sliding_window": None}
    else:
        config |= {"num_experts": count, "moe_intermediate_size": inner, "decoder_sparse_step": 1, "mlp_only_layers": []}
    return Model("routed", config, layers, hidden, vocabulary, shared + layers * hidden * count,
                 experts=layers * count * 3 * hidden * inner, count=count, matrix=hidden * width * heads, kv_values=2 * kv)


def latent(dice):
    """DeepSeek V3: queries, keys and values pass narrow latents; the cache holds one latent and one rotary part."""
    hidden, layers, heads = 512 * dice.randint(2, 14), dice.randint(4, 40), dice.choice([16, 32, 64, 128])
    vocabulary, first = dice.choice([102400, 129280]), dice.randint(0, 3)
    inner, narrow = 256 * dice.randint(8, 72), 128 * dice.randint(2, 16)
    count, q_rank, rank, nope, rope, value = dice.choice([16, 64, 256]), dice.choice([768, 1536]), 512, 128, 64, 128
    config = frame("deepseek_v3", dice, layers, hidden, vocabulary, False)
    config |= {"num_attention_heads": heads, "num_key_value_heads": heads, "q_lora_rank": q_rank, "kv_lora_rank": rank,
               "qk_nope_head_dim": nope, "qk_rope_head_dim": rope, "v_head_dim": value, "intermediate_size": inner,
               "moe_intermediate_size": narrow, "n_routed_experts": count, "n_shared_experts": 1,
               "num_experts_per_tok": 8, "first_k_dense_replace": first, "moe_layer_freq": 1, "n_group": 1,
               "topk_group": 1, "num_nextn_predict_layers": 0}
    attention = (hidden * q_rank + q_rank + q_rank * heads * (nope + rope) + hidden * (rank + rope) + rank
                 + rank * heads * (nope + value) + heads * value * hidden)
    sparse = layers - first
    shared = (2 * vocabulary * hidden + hidden + layers * (attention + 2 * hidden) + first * 3 * hidden * inner
              + sparse * (3 * hidden * narrow + hidden * count))
    return Model("latent", config, layers, hidden, vocabulary, shared, experts=sparse * count * 3 * hidden * narrow,
                 count=count, matrix=hidden * heads * value, kv_values=rank + rope)


def recurrent(dice):
    """Mamba: a state of each channel, and the last inputs of its convolution, in place of a cache."""
    hidden, layers = 256 * dice.randint(3, 20), dice.randint(8, 40)
    vocabulary, states, kernel = 50304, 16, 4
    inner, rank = 2 * hidden, -(-hidden // 16)
    config = frame("mamba", dice, layers, hidden, vocabulary, True)
    config |= {"state_size": states, "intermediate_size": inner, "time_step_rank": rank, "conv_kernel": kernel,
               "use_bias": False, "use_conv_bias": True, "expand": 2}
    layer = (2 * inner * hidden + inner * (kernel + 1) + inner * (rank + 2 * states) + rank * inner + inner
             + inner * states + inner + inner * hidden + hidden)
    return Model("recurrent", config, layers, hidden, vocabulary, vocabulary * hidden + hidden + layers * layer,
                 matrix=2 * inner * hidden, state_values=layers * inner * (states + kernel - 1))


TRAINED = [dense, dense, dense, routed, routed, latent]
SERVED = [dense, dense, dense, routed, routed, latent, recurrent]

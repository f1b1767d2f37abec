"""Make a tiny Llama of random weights with a tokenizer and chat template, for vLLM on the CPU.

    $(bash tests/serving_vllm/make_venv.sh)/bin/python tests/serving_vllm/make_model.py OUT

Runs in vLLM's own environment (it has torch and transformers). About 150 thousand parameters; what
it writes is noise, but tokens, cache, schema and limits are the real server's.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

SPECIAL = {"pad": "<|pad|>", "text": "<|endoftext|>", "start": "<|im_start|>", "end": "<|im_end|>"}
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
WINDOW = 16384


def tokenizer() -> PreTrainedTokenizerFast:
    """A byte-level BPE of 1,024 tokens trained on the standard library's sources."""
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=1024,
        special_tokens=list(SPECIAL.values()),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    sources = sorted(Path(sys.modules["pathlib"].__file__ or "").parent.glob("*.py"))[:60]
    bpe.train([str(path) for path in sources], trainer)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        pad_token=SPECIAL["pad"],
        bos_token=SPECIAL["text"],
        eos_token=SPECIAL["end"],
        additional_special_tokens=[SPECIAL["start"]],
        model_max_length=WINDOW,
    )
    fast.chat_template = TEMPLATE
    return fast


def main(out: Path) -> None:
    """Write tokenizer, configuration and weights to `out`, then the file `complete`."""
    words = tokenizer()
    words.save_pretrained(out)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(words),
        hidden_size=64,  # head_dim 32: the CPU kernels take 32 or 64
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=WINDOW,
        tie_word_embeddings=True,
        bos_token_id=1,
        eos_token_id=3,
        pad_token_id=0,
        initializer_range=0.3,
    )
    LlamaForCausalLM(config).float().save_pretrained(out, safe_serialization=True)
    (out / "complete").touch()


if __name__ == "__main__":
    main(Path(sys.argv[1]))

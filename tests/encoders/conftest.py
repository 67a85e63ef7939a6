"""A small multilingual model, saved by sentence-transformers here; its weights are random."""

from pathlib import Path

import pytest

from pincite.encoders.offline import stay_offline

SENTENCES = [
    "Перед пуском насоса необхідно очистити фільтр і перевірити тиск.",
    "床前明月光,疑是地上霜。举头望明月,低头思故乡。",
    "Clean the filter before the pump is started.",
]


@pytest.fixture(scope="session")
def multilingual(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """XLM-RoBERTa of 32 dimensions and 66 positions, mean pooled, with the prompts of E5."""
    stay_offline()
    import torch
    from sentence_transformers import SentenceTransformer
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast, XLMRobertaConfig, XLMRobertaModel
    from transformers.utils import logging as transformers_logging

    transformers_logging.disable_progress_bar()
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    trainer = trainers.UnigramTrainer(
        vocab_size=200, special_tokens=special, unk_token="<unk>", show_progress=False
    )
    tokenizer.train_from_iterator(SENTENCES * 20, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        "<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    raw, saved = tmp_path_factory.mktemp("raw"), tmp_path_factory.mktemp("models") / "small-multilingual"
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", pad_token="<pad>", unk_token="<unk>"
    ).save_pretrained(raw)
    torch.manual_seed(0)
    config = XLMRobertaConfig(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=66,
        pad_token_id=1,
    )
    XLMRobertaModel(config).save_pretrained(raw)
    model = SentenceTransformer(str(raw), device="cpu", prompts={"query": "query: ", "document": "passage: "})
    model.save(str(saved), create_model_card=False)
    return saved

"""A BERT of two layers of 48 dimensions, with MiniLM's vocabulary, that learns to tell answers from echoes.

A passage that says a cause is relevant; one that repeats the words of the question is not, though both legs of the
search like it better. Three seconds of training; its weights are committed nowhere.
"""

import random
from pathlib import Path

from pincite.encoders.models import resolve_model
from pincite.encoders.offline import stay_offline
from pincite.schemas.settings import DEFAULT_MODEL

THINGS = ("pump", "valve", "motor", "filter")
CAUSES = ("worn bearing", "frozen spindle", "broken brush", "thick mud")
QUESTIONS = ("why does the {} stop", "what stops the {}", "reason that the {} stops")
SAID = ("a {} is the trouble", "we found a {} inside", "replace it because of the {}")
REPEATED = ("the {} stops why does it stop", "when the {} stops read this", "the {} is painted blue")


def draw(chance: random.Random) -> tuple[str, str, float]:
    """(question, passage, 1.0 where it answers)."""
    thing = chance.choice(THINGS)
    question = chance.choice(QUESTIONS).format(thing)
    if chance.random() < 0.5:
        return question, chance.choice(SAID).format(chance.choice(CAUSES)), 1.0
    return question, chance.choice(REPEATED).format(thing), 0.0


def train_cross_encoder(folder: Path, steps: int = 80, labels: int = 1) -> Path:
    stay_offline()
    import torch
    from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

    torch.manual_seed(0)
    chance = random.Random(0)
    tokenizer = AutoTokenizer.from_pretrained(resolve_model(DEFAULT_MODEL).folder)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=96,
        max_position_embeddings=128,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        initializer_range=0.1,  # with the usual 0.02 all words look alike for hundreds of steps
        num_labels=labels,
    )
    model = BertForSequenceClassification(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for _ in range(steps):
        questions, passages, answers = zip(*(draw(chance) for _ in range(32)), strict=True)
        batch = tokenizer(list(questions), list(passages), padding=True, return_tensors="pt")
        logits = model(**batch).logits[:, 0]
        loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, torch.tensor(answers))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder

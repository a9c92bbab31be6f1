"""transformers' side of tests/cli/test_supervised.py, run by the Python of .venv-transformers.

    supervised_side.py FOLDER    of FOLDER/model (a tokenizer, a chat template, a config.json), FOLDER/rows.jsonl and
                                 FOLDER/task.json: weights in FOLDER/model, and FOLDER/expected.json with ids and
                                 masks of every row, greedy answers to prompts and the loss of every step

Ids and masks are those of apply_chat_template with return_assistant_tokens_mask; a turn of weight 0 loses its mask.
The loop is that of transformers' Trainer: a batch padded to its longest row, the loss over all labels of the step.
"""

import json
import pathlib
import sys

from transformers_side import torch, transformers


def runs_of(mask):
    """[begin, end) of every run of ones."""
    runs, begin = [], None
    for i, each in enumerate([*mask, 0]):
        if each and begin is None:
            begin = i
        elif not each and begin is not None:
            runs.append((begin, i))
            begin = None
    return runs


def ids_and_mask(tokenizer, row):
    made = tokenizer.apply_chat_template(
        row["messages"], tools=row.get("tools"), tokenize=True, return_dict=True, return_assistant_tokens_mask=True
    )
    mask = list(made["assistant_masks"])
    answers = [each for each in row["messages"] if each["role"] == "assistant"]
    runs = runs_of(mask)
    assert len(runs) == len(answers)
    for (begin, end), answer in zip(runs, answers):
        if answer.get("weight", 1) == 0:
            mask[begin:end] = [0] * (end - begin)
    return made["input_ids"], mask


def losses_of(model, rows, task):
    """Loss of each step, before its update."""
    length = task["seq_len"]
    optimizer = torch.optim.AdamW(model.parameters(), lr=task["lr"], betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0)
    losses = []
    for batch in task["batches"]:
        chosen = [rows[i] for i in batch]
        width = min(length + 1, max(len(ids) for ids, _ in chosen))
        inputs = torch.zeros(len(chosen), width, dtype=torch.long)
        labels = torch.full((len(chosen), width), -100)
        present = torch.zeros(len(chosen), width, dtype=torch.long)
        for i, (ids, mask) in enumerate(chosen):
            ids = ids[:width]
            inputs[i, : len(ids)] = torch.tensor(ids)
            present[i, : len(ids)] = 1
            labels[i, : len(ids)] = torch.tensor([id if learnt else -100 for id, learnt in zip(ids, mask)])
        logits = model(input_ids=inputs, attention_mask=present).logits[:, :-1]
        targets = labels[:, 1:].reshape(-1)
        total = torch.nn.functional.cross_entropy(logits.reshape(targets.numel(), -1), targets, reduction="sum")
        loss = total / int((targets != -100).sum())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(float(loss.detach()))
    return losses


def answers_of(model, tokenizer, prompts):
    """Ids of each prompt, rendered with what the template writes before an answer, and of the greedy answer."""
    end, answers = tokenizer.convert_tokens_to_ids("<|im_end|>"), []
    for prompt in prompts:
        ids = tokenizer.apply_chat_template(prompt["messages"], tools=prompt.get("tools"), add_generation_prompt=True)
        with torch.no_grad():
            out = model.generate(torch.tensor([ids]), max_new_tokens=24, do_sample=False, eos_token_id=end,
                                 pad_token_id=0, attention_mask=torch.ones(1, len(ids)))  # fmt: skip
        answers.append({"prompt_ids": ids, "ids": [id for id in out[0, len(ids) :].tolist() if id != end]})
    return answers


def main(folder):
    torch.set_num_threads(1)
    task = json.loads((folder / "task.json").read_text())
    tokenizer = transformers.PreTrainedTokenizerFast.from_pretrained(folder / "model")
    rows = [ids_and_mask(tokenizer, json.loads(line)) for line in (folder / "rows.jsonl").read_text().splitlines()]
    torch.manual_seed(3)
    config = transformers.AutoConfig.from_pretrained(folder / "model", attn_implementation="eager")
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager").float()
    with torch.no_grad():
        for each in model.parameters():  # Far from where training begins, so that no two tokens are nearly as likely.
            each.add_(torch.randn_like(each) * (0.05 if each.dim() == 1 else 0.1))
    model.save_pretrained(folder / "weights", safe_serialization=True)
    (folder / "weights" / "model.safetensors").rename(folder / "model" / "model.safetensors")
    expected = {"rows": rows, "answers": answers_of(model.eval(), tokenizer, task["prompts"])}
    expected["losses"] = losses_of(model.train(), rows, task)
    (folder / "expected.json").write_text(json.dumps(expected))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))

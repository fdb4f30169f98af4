"""Programs with the transformers library and with peft, which roles.py records beside those of role_programs.py."""

import torch
from role_programs import PROGRAMS, program, texts  # noqa: F401 - roles.py takes all programs from here


def llama(layers=4, **options):
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(hidden_size=768, intermediate_size=2048, num_hidden_layers=layers, num_attention_heads=12, num_key_value_heads=4, vocab_size=16_000, **options)
    return LlamaForCausalLM(config)


def cache_notes(run):
    """The keys and values that a cache holds after each step."""
    from transformers.cache_utils import DynamicLayer

    plain = DynamicLayer.update

    def update(layer, *arguments, **named):
        kept = plain(layer, *arguments, **named)
        run.note("kv_cache", layer.keys, layer.values)
        return kept

    if run.watched:
        DynamicLayer.update = update


@program("transformers", "all")
def llama_generate_late(run):
    from transformers import DynamicCache

    model = llama().to("cuda", torch.bfloat16).eval()
    run.model(model)
    cache_notes(run)
    run.record()
    run.phase("inference")
    with torch.no_grad():
        tokens = torch.randint(0, 16_000, (32, 400)).to("cuda")
        run.note("input", tokens)
        cache = DynamicCache(config=model.config)
        for _ in range(6):
            output = model(tokens, past_key_values=cache, use_cache=True, logits_to_keep=1)
            tokens = output.logits[:, -1:].argmax(-1)
    return tokens, cache


@program("transformers", "python")
def gpt2_train(run):
    from transformers import GPT2Config, GPT2LMHeadModel, get_linear_schedule_with_warmup

    run.record()
    model = GPT2LMHeadModel(GPT2Config(vocab_size=9_000, n_embd=576, n_layer=4, n_head=9)).to("cuda")
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5)
    schedule = get_linear_schedule_with_warmup(optimizer, 1, 10)
    run.model(model, optimizer)
    cache_notes(run)
    for _ in range(3):
        run.phase("forward")
        tokens, _ = texts(run, 6, 256, 9_000)
        loss = model(tokens, labels=tokens).loss
        run.phase("backward")
        loss.backward()
        run.phase("optimizer")
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
    run.phase("setup")
    return loss


@program("transformers", "python")
def llama_peft(run):
    import peft

    run.record()
    model = llama().to(device="cuda", dtype=torch.bfloat16)
    model.gradient_checkpointing_enable()
    model.enable_input_require_grads()
    model = peft.get_peft_model(model, peft.LoraConfig(r=16, target_modules=["q_proj", "v_proj", "up_proj", "down_proj"], task_type="CAUSAL_LM"))
    optimizer = torch.optim.AdamW(p for p in model.parameters() if p.requires_grad)
    run.model(model, optimizer)
    model.train()
    for _ in range(2):
        run.phase("forward")
        tokens, _ = texts(run, 4, 512, 16_000)
        loss = model(input_ids=tokens, labels=tokens).loss
        run.phase("backward")
        loss.backward()
        run.phase("optimizer")
        optimizer.step()
        optimizer.zero_grad()
    run.phase("setup")
    return loss


@program("transformers", "all")
def bert_trainer_late(run):
    """A few steps of transformers' own Trainer."""
    from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainerCallback, TrainingArguments

    config = BertConfig(vocab_size=12_000, hidden_size=512, num_hidden_layers=4, num_attention_heads=8, intermediate_size=2048)
    rows = [{"input_ids": torch.randint(0, 12_000, (192,)), "labels": torch.tensor(row % 2)} for row in range(48)]

    class Steps(TrainerCallback):
        def on_step_end(self, arguments, state, control, **_):
            if state.global_step == 1:
                run.record()

    class Phased(Trainer):
        """Reports when a step begins and when its parts end."""

        def compute_loss(self, model, inputs, **named):
            run.phase("forward")
            run.note("input", *inputs.values())
            loss = super().compute_loss(model, inputs, **named)
            run.phase("backward")
            return loss

        def training_step(self, *arguments, **named):
            loss = super().training_step(*arguments, **named)
            run.phase("optimizer")
            return loss

    arguments = TrainingArguments("out", max_steps=4, per_device_train_batch_size=12, report_to=[], save_strategy="no", logging_strategy="no", disable_tqdm=True)
    trainer = Phased(BertForSequenceClassification(config), arguments, train_dataset=rows, callbacks=[Steps()])
    trainer.create_optimizer()
    run.model(trainer.model, trainer.optimizer)
    trainer.train()
    run.phase("setup")
    return trainer

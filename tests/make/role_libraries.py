"""Programs with DeepSpeed, Lightning, TRL, Accelerate and transformers' Trainer, which roles.py records after those of role_loops.py."""

import os

import torch
from role_loops import TELLING
from role_programs import GPT, join, program, texts

# ---- DeepSpeed ----------------------------------------------------------------------------------

BUCKET = 4_000_000  # elements; the default of 500 million would be nearly all of so small a model's memory


def join_as_deepspeed(ranks):
    join("nccl", ranks)
    os.environ["LOCAL_RANK"] = "0"


def engine_of(run, model, stage, **config):
    """DeepSpeed's engine for one of several ranks, by the configuration that its users write."""
    import deepspeed

    # Norms are not computed here: they are whatever is in memory, and all are acceptable.
    deepspeed.runtime.zero.stage3.is_invalid_grad_norm = deepspeed.runtime.zero.stage_1_and_2.is_invalid_grad_norm = lambda _: False
    adam = {"type": "AdamW", "params": {"lr": 1e-4, "torch_adam": True}}  # DeepSpeed's own is compiled by nvcc
    config["zero_optimization"] = {"stage": stage, "reduce_bucket_size": BUCKET, **config.pop("zero_optimization", {})}
    config = {"train_micro_batch_size_per_gpu": 4, "optimizer": adam, **config}
    if run.watched:
        note_gathered(run)
    engine, optimizer, *_ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=config)
    run.model(engine, optimizer.optimizer)
    if run.watched:
        note_engine(run, engine, optimizer)
    return engine


def note_engine(run, engine, optimizer):
    inner = optimizer.optimizer
    # In full precision, the rank's share: of stages 1 and 2, of stage 3, of BF16_Optimizer.
    names = ("single_partition_of_fp32_groups", "fp32_partitioned_groups_flat", "fp32_groups_flat_partition")
    masters = [value for name in names for value in getattr(optimizer, name, [])]
    run.also("optimizer_state", lambda: masters)
    run.also("gradient", lambda: [value.grad for value in masters if value.grad is not None])
    run.also("gradient", lambda: kept_gradients(optimizer))
    run.also("bucket", lambda: [part for bucket in getattr(optimizer, "ipg_buckets", {}).values() for part in tensors_in(bucket.buffer)])
    run.also("parameter", lambda: [shard for parameter in engine.parameters() for shard in tensors_in(getattr(parameter, "ds_tensor", None))])
    plain = inner.step

    def step(*arguments, **named):
        run.sweep(False)
        return plain(*arguments, **named)

    inner.step = step


def tensors_in(value):
    """The tensors of a tensor, or of a list of them."""
    if torch.is_tensor(value):
        return [value]
    return [tensor for part in value for tensor in tensors_in(part)] if isinstance(value, (list, tuple)) else []


def kept_gradients(optimizer):
    """The rank's share of the gradients, from their reduction to the step that uses them."""
    held = [getattr(optimizer, "grad_partitions_flat_buffer", None), getattr(optimizer, "fp32_groups_gradients_flat", None)]
    for name in ("averaged_gradients", "all_grad_tensors"):
        held += getattr(optimizer, name, {}).values()
    return tensors_in(held)


def note_gathered(run):
    """Parameters that stage 3 gathers for a module, in both passes, and while it is set up."""
    from deepspeed.runtime.zero.partition_parameters import Init, ZeroParamStatus
    from deepspeed.runtime.zero.partitioned_param_coordinator import PartitionedParameterCoordinator, iter_params

    plain = PartitionedParameterCoordinator.fetch_sub_module

    def fetch_sub_module(coordinator, module, forward):
        plain(coordinator, module, forward)
        run.note("gathered", *(parameter for parameter in iter_params(module) if parameter.ds_status == ZeroParamStatus.AVAILABLE))

    PartitionedParameterCoordinator.fetch_sub_module = fetch_sub_module
    one_by_one = Init._allgather_params_sequential

    def gather_one_by_one(init, parameters, **named):
        handles = one_by_one(init, parameters, **named)
        run.note("gathered", *parameters)
        return handles

    Init._allgather_params_sequential = gather_one_by_one


def train_engine(run, engine, *, steps=3, late=False, passes=1, batch=4, length=256, vocabulary=8000):
    for step in range(steps + late):
        if late and step == 1:
            run.record()
        for _ in range(passes):
            run.phase("forward")
            _, loss = engine(*texts(run, batch, length, vocabulary))
            run.phase("backward")
            engine.backward(loss)
            run.phase("optimizer")
            engine.step()
    run.phase("setup")
    return loss


def gpt(**options):
    return GPT(**{"width": 512, "heads": 8, "layers": 4, "vocabulary": 8000, **options})


@program("zero", "python")
def zero1(run):
    join_as_deepspeed(4)
    run.record()
    engine = engine_of(run, gpt(), 1, bf16={"enabled": True})
    return train_engine(run, engine)


@program("zero", "python")
def zero2_late(run):
    join_as_deepspeed(4)
    engine = engine_of(run, gpt(width=640, heads=10), 2, bf16={"enabled": True}, gradient_clipping=1.0)
    return train_engine(run, engine, late=True, steps=2, batch=6)


@program("zero", "python")
def zero3(run):
    join_as_deepspeed(4)
    run.record()
    engine = engine_of(run, gpt(width=768, heads=12), 3, bf16={"enabled": True})
    return train_engine(run, engine)


@program("zero", "all", folder=TELLING)
def zero3_init_late(run):
    """Made in shards; only the parameters that the running modules need are gathered."""
    import deepspeed

    join_as_deepspeed(8)
    zero = {"stage3_max_live_parameters": 1_000_000, "stage3_max_reuse_distance": 1_000_000, "stage3_prefetch_bucket_size": 1_000_000, "stage3_param_persistence_threshold": 1000}
    with deepspeed.zero.Init(config_dict_or_path={"train_micro_batch_size_per_gpu": 4, "bf16": {"enabled": True}, "zero_optimization": {"stage": 3, **zero}}):
        model = gpt(width=768, heads=12, layers=3)
    engine = engine_of(run, model, 3, bf16={"enabled": True}, zero_optimization=zero)
    return train_engine(run, engine, late=True, steps=2)


@program("zero", "all")
def zero_bf16(run):
    """BF16_Optimizer: bfloat16 with gradients added up in float32."""
    join_as_deepspeed(2)
    run.record()
    engine = engine_of(run, gpt(), 1, bf16={"enabled": True}, data_types={"grad_accum_dtype": "fp32"})
    return train_engine(run, engine, steps=2)


@program("zero", "python")
def zero1_fp16_late(run):
    join_as_deepspeed(4)
    engine = engine_of(run, gpt(width=576, heads=9, vocabulary=10_000), 1, fp16={"enabled": True, "initial_scale_power": 8})
    return train_engine(run, engine, late=True, steps=2)


@program("zero", "python", folder=TELLING)
def zero2_accumulate(run):
    join_as_deepspeed(8)
    run.record()
    engine = engine_of(run, gpt(layers=3), 2, bf16={"enabled": True}, gradient_accumulation_steps=2, zero_optimization={"overlap_comm": True})
    return train_engine(run, engine, steps=2, passes=2)


@program("zero", "python")
def zero_bf16_late(run):
    join_as_deepspeed(4)
    engine = engine_of(run, gpt(width=640, heads=10, layers=3), 1, bf16={"enabled": True}, data_types={"grad_accum_dtype": "fp32"})
    return train_engine(run, engine, late=True, steps=2, batch=6)


# ---- trainers -----------------------------------------------------------------------------------


def phased(run, trainer_class):
    """The trainer, reporting when a step begins and when its parts end."""

    class Phased(trainer_class):
        def compute_loss(self, model, inputs, **named):
            run.phase("forward")
            run.note("input", *(value for value in inputs.values() if torch.is_tensor(value)))
            loss = super().compute_loss(model, inputs, **named)
            run.phase("backward")
            return loss

        def training_step(self, *arguments, **named):
            loss = super().training_step(*arguments, **named)
            run.phase("optimizer")
            return loss

    return Phased


def recorded_after(run, first):
    from transformers import TrainerCallback

    class Recorded(TrainerCallback):
        def on_step_end(self, arguments, state, control, **_):
            if state.global_step == first:
                run.record()

    return Recorded()


def arguments_of(kind, **options):
    return kind("out", report_to=[], save_strategy="no", logging_strategy="no", disable_tqdm=True, **options)


@program("trainer", "python", folder=TELLING)
def llama_trainer(run):
    """bf16, checkpoints and gradients of two batches added up, as fine-tuning scripts set them."""
    from role_transformers import llama
    from transformers import Trainer, TrainingArguments

    run.record()
    rows = [{"input_ids": (tokens := torch.randint(0, 16_000, (384,))), "labels": tokens} for _ in range(32)]
    options = arguments_of(TrainingArguments, max_steps=2, per_device_train_batch_size=4, gradient_accumulation_steps=2, bf16=True, gradient_checkpointing=True)
    trainer = phased(run, Trainer)(llama(layers=3), options, train_dataset=rows)
    trainer.create_optimizer()
    run.model(trainer.model, trainer.optimizer)
    trainer.train()
    run.phase("setup")
    return trainer


def lightning_module(run, model, optimizer_of, batch):
    import lightning

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.model = model

        def training_step(self, batch, index):
            run.phase("forward")
            run.note("input", *batch)
            _, loss = self.model(*batch)
            return loss

        def on_before_backward(self, loss):
            run.phase("backward")

        def on_before_optimizer_step(self, optimizer):
            run.phase("optimizer")

        def configure_optimizers(self):
            return optimizer_of(self.parameters())

        def on_train_start(self):
            run.model(self, self.optimizers().optimizer)

        def on_train_batch_end(self, outputs, batch, index):
            run.phase("setup")
            if index == 0 and run.late:
                run.record()

        def train_dataloader(self):
            rows = [torch.randint(0, 8000, (321,)) for _ in range(8 * batch)]
            return torch.utils.data.DataLoader([(row[:-1], row[1:]) for row in rows], batch_size=batch)

    return Module()


def fit(run, module, late, **options):
    import lightning

    run.late = late
    trainer = lightning.Trainer(accelerator="cuda", devices=1, max_steps=3 + late, logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False, **options)
    trainer.fit(module)
    return trainer


@program("trainer", "all")
def lightning_late(run):
    return fit(run, lightning_module(run, gpt(), torch.optim.AdamW, 4), True, gradient_clip_val=1.0)


@program("trainer", "python")
def lightning_bf16(run):
    run.record()
    return fit(run, lightning_module(run, gpt(width=640, heads=10), torch.optim.AdamW, 4), False, precision="bf16-mixed")


@program("trainer", "python")
def trl_dpo_late(run):
    """TRL's own DPOTrainer, with the reference model that it makes."""
    from datasets import Dataset
    from role_transformers import llama
    from trl import DPOConfig, DPOTrainer

    rows = [{"prompt": words(60), "chosen": words(100), "rejected": words(100)} for _ in range(16)]
    options = arguments_of(DPOConfig, max_steps=3, per_device_train_batch_size=2, gradient_checkpointing=False, max_length=256)
    trainer = phased(run, DPOTrainer)(llama(), ref_model=llama(), args=options, train_dataset=Dataset.from_list(rows), processing_class=tokenizer(), callbacks=[recorded_after(run, 1)])
    trainer.create_optimizer()
    run.model(torch.nn.ModuleList([trainer.model, trainer.ref_model]), trainer.optimizer)
    trainer.train()
    run.phase("setup")
    return trainer


def words(count):
    return " ".join(f"w{number}" for number in torch.randint(0, 9000, (count,)).tolist())


def tokenizer():
    """Each word a token; nothing is downloaded."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    made = Tokenizer(models.WordLevel({"<unk>": 0, "<pad>": 1, "<eos>": 2, **{f"w{number}": number + 3 for number in range(9000)}}, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=made, unk_token="<unk>", pad_token="<pad>", eos_token="<eos>")


@program("trainer", "all")
def llama_loop_late(run):
    """A hand-written loop. By default the model makes a cache of keys and values, and autograd saves them."""
    from role_transformers import cache_notes, llama

    model = llama(layers=3).to("cuda", torch.bfloat16).train()
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    run.model(model, optimizer)
    cache_notes(run)
    for step in range(3):
        if step == 1:
            run.record()
        run.phase("forward")
        tokens, _ = texts(run, 4, 512, 16_000)
        output = model(input_ids=tokens, labels=tokens)
        run.phase("backward")
        output.loss.backward()
        run.phase("optimizer")
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    run.phase("setup")
    return output


@program("trainer", "python", folder=TELLING)
def accelerate_late(run):
    """Accelerate's loop: two passes to a step, in bfloat16."""
    from accelerate import Accelerator

    accelerator = Accelerator(mixed_precision="bf16", gradient_accumulation_steps=2)
    model = gpt(layers=3)
    model, optimizer = accelerator.prepare(model, torch.optim.AdamW(model.parameters()))
    run.model(model, optimizer.optimizer)
    for step in range(6):
        if step == 2:
            run.record()
        with accelerator.accumulate(model):
            run.phase("forward")
            _, loss = model(*texts(run, 6, 256, 8000))
            run.phase("backward")
            accelerator.backward(loss)
            run.phase("optimizer")
            optimizer.step()
            optimizer.zero_grad()
    run.phase("setup")
    return loss

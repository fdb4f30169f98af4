//! The shelf of bundled samples: each opens at the view where it is interesting.

use yew::prelude::*;

use super::commands::use_commands;
use super::icons::Glyph;
use super::rail::icon;
use crate::engine::Source;
use crate::state::{Action, Permalink, ViewKind};

/// A bundled file.
struct Sample {
    /// File name under `samples/`.
    file: &'static str,
    title: &'static str,
    /// What it shows, and what to look at.
    text: &'static str,
    /// The view that it opens at; `None` for a graph, which has its own.
    view: Option<ViewKind>,
    /// The rest of its place, as in the page's address.
    place: &'static str,
}

const SAMPLES: [Sample; 15] = [
    Sample {
        file: "training.pickle.gz",
        title: "Training steps",
        text: "Activations pile up in forward; gradients replace them in backward. The lane above names the steps.",
        view: Some(ViewKind::Timeline),
        place: "",
    },
    Sample {
        file: "gpt_adamw.pickle.zst",
        title: "What memory is for",
        text: "A small GPT with AdamW, recorded from its first line. One sentence says what the peak is made of.",
        view: Some(ViewKind::Overview),
        place: "",
    },
    Sample {
        file: "out-of-memory.pickle.gz",
        title: "Out of memory",
        text: "Enough is free, but in pieces. The first card says which setting would have served the request.",
        view: Some(ViewKind::Overview),
        place: "",
    },
    Sample {
        file: "leak.pickle.gz",
        title: "A leak",
        text: "Each step keeps 24 MiB more: outputs in a list. The finding names the line.",
        view: Some(ViewKind::Overview),
        place: "",
    },
    Sample {
        file: "fragmented.pickle.gz",
        title: "A fragmented run",
        text: "Much reserved memory is free, yet in pieces between blocks in use.",
        view: Some(ViewKind::Allocator),
        place: "",
    },
    Sample {
        file: "oom-waited.pickle.gz",
        title: "A failure that only waited",
        text: "A block that fits was free, but for another stream. The next request of the same size got it.",
        view: Some(ViewKind::Overview),
        place: "",
    },
    Sample {
        file: "gpt_checkpoint.pickle.zst",
        title: "Activation checkpointing",
        text: "The hill is gone: only each block's input stays, and backward computes the rest again, block by block.",
        view: Some(ViewKind::Timeline),
        place: "",
    },
    Sample {
        file: "lora_adamw.pickle.zst",
        title: "LoRA",
        text: "Frozen parameters need no gradients and no optimizer state: what is left are activations.",
        view: Some(ViewKind::Timeline),
        place: "",
    },
    Sample {
        file: "llama_generate_late.pickle.zst",
        title: "A growing KV cache",
        text: "Generation: each token allocates keys and values anew, one token larger, and frees the old ones.",
        view: Some(ViewKind::Timeline),
        place: "",
    },
    Sample {
        file: "fsdp2_nccl.pickle.zst",
        title: "Sharded parameters",
        text: "FSDP gathers each block's parameters before it runs and frees them after: communication buffers.",
        view: Some(ViewKind::Flame),
        place: "",
    },
    Sample {
        file: "pools.pickle.gz",
        title: "Pools and streams",
        text: "What is free in a CUDA graph's pool, or on another stream, serves nobody else.",
        view: Some(ViewKind::Allocator),
        place: "",
    },
    Sample {
        file: "expandable.pickle.gz",
        title: "Expandable segments",
        text: "Addresses from bottom to top: one segment grows and shrinks where many would be cut.",
        view: Some(ViewKind::Map),
        place: "",
    },
    Sample {
        file: "multi-device.pickle.gz",
        title: "The odd one of three GPUs",
        text: "One file with three devices: their cards stand above, and one peaks far above the others.",
        view: Some(ViewKind::Overview),
        place: "",
    },
    Sample {
        file: "state-only.pickle.gz",
        title: "Without a recording",
        text: "Only the state at the dump is known: what is held, where it lies, and what is free.",
        view: Some(ViewKind::Allocator),
        place: "",
    },
    Sample {
        file: "graph.json.zst",
        title: "A compiled graph",
        text: "In another order, the compiled graph would need less memory.",
        view: None,
        place: "",
    },
];

impl Sample {
    /// Its place once it is open.
    fn link(&self) -> Option<Permalink> {
        let (file, view, place) = (self.file, self.view?.name(), self.place);
        Permalink::parse(&format!("file={file}&view={view}{place}&v=1"))
    }
}

/// The samples as buttons that open them.
#[component]
pub(super) fn Samples() -> Html {
    let commands = use_commands();
    let sample = |sample: &'static Sample| {
        let commands = commands.clone();
        let onclick = Callback::from(move |_: MouseEvent| {
            let url = format!("samples/{}", sample.file);
            commands.open.emit(vec![Source::Sample(url)]);
            if let Some(link) = sample.link() {
                commands.dispatch.emit(Action::Await(Box::new(link)));
            }
        });
        let icon = icon(sample.view.unwrap_or(ViewKind::WhatIf));
        html! {
            <li><button type="button" class="sample" {onclick}>
                <strong><Glyph {icon} />{ sample.title }</strong>
                <span class="muted">{ sample.text }</span>
            </button></li>
        }
    };
    html! { <ul class="samples">{ for SAMPLES.iter().map(sample) }</ul> }
}

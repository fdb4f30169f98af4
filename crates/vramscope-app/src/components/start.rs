//! The page while no file is open.

use std::rc::Rc;

use yew::prelude::*;

use super::commands::use_commands;
use super::help::about;
use super::paste_box::PasteBox;
use super::recipe::Recipe;
use super::samples::Samples;
use crate::state::{Permalink, sentences};

#[derive(Properties, PartialEq)]
pub(super) struct StartProps {
    /// The state in the page's address, if its file is not open.
    pub(super) wanted: Option<Rc<Permalink>>,
}

/// A headline, an area to drop files, a box for the text of an error, samples, and how to record.
#[component]
pub(super) fn Start(props: &StartProps) -> Html {
    let commands = use_commands();
    html! {
        <main class="start">
            <div class="page">
                <h1>{ "See every allocation of a PyTorch CUDA memory snapshot, at every moment, with its stack." }</h1>
                if let Some(file) = props.wanted.as_ref().and_then(|link| link.file.as_ref()) {
                    <p class="wanted">{ sentences::wanted(&file.name, file.bytes) }</p>
                }
                <button type="button" class="drop-area" onclick={commands.pick.reform(|_| ())}>
                    <strong>{ "Drop snapshots here" }</strong>
                    <span>{ "or click to choose files" }</span>
                    <span class="muted">{ ".pickle, JSON or the HTML of trace_plot; gzip, zstd or zip around it" }</span>
                    <span class="muted">{ "or a TORCH_TRACE log of torch.compile: the order of a graph's nodes, and the memory it needs" }</span>
                    <span class="muted">{ "or the overview.vset of many ranks, as vramscope fleet pack writes it" }</span>
                </button>
                <PasteBox />
                <p class="promise">{ "Nothing leaves this page: files are read here, in your browser." }</p>
                <section aria-labelledby="samples-title">
                    <h2 id="samples-title">{ "Or look at a sample" }</h2>
                    <Samples />
                </section>
                <section aria-labelledby="recipe-title">
                    <h2 id="recipe-title">{ "Record your own" }</h2>
                    <Recipe />
                </section>
                { about() }
            </div>
        </main>
    }
}

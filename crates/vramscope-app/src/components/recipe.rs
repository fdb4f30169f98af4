//! How to record a snapshot.

use yew::prelude::*;

use super::copy_button::CopyButton;

/// The lines of Python that record a snapshot.
const PYTHON: &str = "\
import torch
torch.cuda.memory._record_memory_history(max_entries=1_000_000)
train_a_few_steps()  # your code
torch.cuda.memory._dump_snapshot(\"snapshot.pickle\")
";

/// The lines with a button that copies them.
#[component]
pub(super) fn Recipe() -> Html {
    html! {
        <div class="recipe">
            <pre tabindex="0" data-scrolls="" aria-label="Python code">{ PYTHON }</pre>
            <CopyButton text={PYTHON} what="these lines" />
            <p class="muted">
                { "A job that runs out of memory: put the last line into a " }<code>{ "finally:" }</code>
                { " block. Then drop the file here." }
            </p>
            <p class="muted">
                { "Any other CUDA program, unchanged: " }
                <code>{ "vramscope-capture run -o snapshot.pickle -- ./program" }</code>
            </p>
        </div>
    }
}

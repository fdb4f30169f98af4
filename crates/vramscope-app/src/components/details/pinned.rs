//! Details of the pinned allocation.

use vramscope_protocol::Details;
use yew::prelude::*;

use super::life::life_rows;
use super::stack::Stack;
use crate::components::commands::use_commands;
use crate::components::copy_button::CopyButton;
use crate::components::site_label::site_label;
use crate::state::{Action, Navigation, Shared, sentences};
use vramscope_view::display;

#[derive(Properties, PartialEq)]
pub(super) struct PinnedProps {
    pub(super) details: Shared<Details>,
}

/// Its size, address, life, properties and stacks.
#[component]
pub(super) fn Pinned(props: &PinnedProps) -> Html {
    let commands = use_commands();
    let details = &props.details;
    let known = &details.known;
    let go = |label: &'static str, title: &'static str, navigation: Navigation| {
        html! {
            <button type="button" class="outlined" {title} onclick={commands.on(Action::Navigate(navigation))}>{ label }</button>
        }
    };
    let row = |(name, value): &(String, String)| html! { <><dt>{ name }</dt><dd>{ value }</dd></> };
    html! {
        <>
            <p class="size">{ display::bytes(known.requested_bytes) }</p>
            <p title={known.site.clone()}>{ site_label(&known.site) }</p>
            if !known.operator.is_empty() { <p class="operator">{ &known.operator }</p> }
            <p class="muted">{ sentences::exact_bytes(known.requested_bytes) }</p>
            <div class="row id">
                <span class="mono">{ &known.name }</span>
                <CopyButton text={known.name.clone()} what="the id" />
            </div>
            <div class="row tools">
                { go("Fit", "Fit the view to it (F, or double click)", Navigation::FitPinned) }
                { go("‹ Event", "Its previous event ([)", Navigation::Step(false)) }
                { go("Event ›", "Its next event (])", Navigation::Step(true)) }
            </div>
            <dl class="rows">
                if let Some(block) = &known.block {
                    <dt>{ "Block" }</dt><dd>{ sentences::block(known.requested_bytes, block.bytes) }</dd>
                }
                { life_rows(&known.life, &commands) }
                { for details.properties.iter().map(row) }
            </dl>
            <Stack title={sentences::stack_title(known.stack_source)} frames={known.stack.clone()} />
            if !known.forward_frames.is_empty() {
                <section class="stack">
                    <div class="row"><h3 class="grow">{ "Stack of the forward pass" }</h3>
                        <CopyButton text={known.forward_frames.concat()} what="the forward stack" /></div>
                    <pre tabindex="0" data-scrolls="">{ for known.forward_frames.iter().map(|line| format!("{}\n", line.trim_end())) }</pre>
                </section>
            }
            if let Some(stack) = &details.free_stack {
                <Stack title="Freed by" frames={stack.clone()} />
            }
        </>
    }
}

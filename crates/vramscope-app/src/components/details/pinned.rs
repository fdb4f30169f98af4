//! All that is known of the pinned allocation.

use yew::prelude::*;

use super::life::life_rows;
use super::stack::Stack;
use crate::components::commands::use_commands;
use crate::components::copy_button::CopyButton;
use crate::protocol::Details;
use crate::state::{Action, Navigation, Shared, sentences};
use vramscope_view::display;

#[derive(Properties, PartialEq)]
pub(super) struct PinnedProps {
    pub(super) details: Shared<Details>,
}

/// Its size, place, life, properties and stacks.
#[component]
pub(super) fn Pinned(props: &PinnedProps) -> Html {
    let commands = use_commands();
    let details = &props.details;
    let go = |label: &'static str, title: &'static str, navigation: Navigation| {
        html! {
            <button type="button" class="outlined" {title} onclick={commands.on(Action::Navigate(navigation))}>{ label }</button>
        }
    };
    let row = |(name, value): &(String, String)| html! { <><dt>{ name }</dt><dd>{ value }</dd></> };
    html! {
        <>
            <p class="size">{ display::bytes(details.bytes) }</p>
            <p class="muted">{ sentences::exact_bytes(details.bytes) }</p>
            <div class="row id">
                <span class="mono">{ &details.id }</span>
                <CopyButton text={details.id.clone()} what="the id" />
            </div>
            <div class="row tools">
                { go("Fit", "Fit the view to it (F, or double click)", Navigation::FitPinned) }
                { go("‹ Event", "Its previous event ([)", Navigation::Step(false)) }
                { go("Event ›", "Its next event (])", Navigation::Step(true)) }
            </div>
            <dl class="rows">
                if let Some(block_bytes) = details.block_bytes {
                    <dt>{ "Block" }</dt><dd>{ sentences::block(details.bytes, block_bytes) }</dd>
                }
                { life_rows(&details.life) }
                { for details.properties.iter().map(row) }
            </dl>
            <Stack title={sentences::stack_title(details.stack.origin)} stack={details.stack.clone()} />
            if !details.forward_lines.is_empty() {
                <section class="stack">
                    <div class="row"><h3 class="grow">{ "Stack of the forward pass" }</h3>
                        <CopyButton text={details.forward_lines.concat()} what="the forward stack" /></div>
                    <pre tabindex="0" data-scrolls="">{ for details.forward_lines.iter().map(|line| format!("{}\n", line.trim_end())) }</pre>
                </section>
            }
            if let Some(stack) = &details.free_stack {
                <Stack title="Freed by" stack={stack.clone()} />
            }
        </>
    }
}

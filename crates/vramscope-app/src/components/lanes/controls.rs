//! Switches for the lines over the picture.

use vramscope_protocol::{DeviceFacts, Picture};
use web_sys::HtmlInputElement;
use yew::prelude::*;

use crate::components::commands::{Commands, use_commands};
use crate::state::typed_size::typed_capacity;
use crate::state::{Action, Chosen, LanesChoices, lane_words};
use vramscope_view::display;
use vramscope_view::restacked::Stacking;

#[derive(Properties, PartialEq)]
pub(in crate::components) struct LineControlsProps {
    pub(in crate::components) facts: DeviceFacts,
    pub(in crate::components) picture: Picture,
    pub(in crate::components) choices: LanesChoices,
    /// The settings to replay with, from the what-if view; empty if there are none.
    pub(in crate::components) replay: AttrValue,
}

/// Switches for reserved memory, private pools and capacity, and a field for a capacity that the
/// file does not record.
#[component]
pub(in crate::components) fn LineControls(props: &LineControlsProps) -> Html {
    let commands = use_commands();
    let LineControlsProps {
        facts,
        picture,
        choices,
        replay,
    } = props;
    if matches!(picture, Picture::Map | Picture::Packing) {
        return Html::default();
    }
    let lines = choices.lines(facts, *picture);
    let has_reserved = *picture == Picture::Timeline;
    let choose =
        |changed: LanesChoices| commands.on::<Event>(Action::Choose(Chosen::Lanes(changed)));
    html! {
        <section class="line-controls" aria-label="Lines over the picture">
            if has_reserved && facts.peak_reserved_bytes > 0 {
                { switch("reserved", "Reserved", display::bytes(facts.peak_reserved_bytes), "Memory held from the device; its highest",
                    lines.reserved, choose(LanesChoices { reserved: Some(!lines.reserved), ..*choices })) }
            }
            if has_reserved && !replay.is_empty() {
                <div title={format!("With {replay}, as chosen in What-if")}>
                    { switch("replayed", "Reserved, replayed", String::new(), "", choices.replayed,
                        choose(LanesChoices { replayed: !choices.replayed, ..*choices })) }
                </div>
            }
            if has_reserved && facts.lines.has_pools {
                { switch("pools", "Private pools", String::new(),
                    "What CUDA graphs and MemPools hold and do not use, on top of what is live",
                    lines.pools, choose(LanesChoices { pools: Some(!lines.pools), ..*choices })) }
            }
            { capacity(props, lines.capacity_bytes.is_some(), &commands) }
            if *picture == Picture::Timeline { { stacking(*choices, &commands) } }
        </section>
    }
}

/// Switches for the order of the bands.
fn stacking(choices: LanesChoices, commands: &Commands) -> Html {
    let Stacking {
        by_group,
        only_found,
    } = choices.stacking;
    let choose = |stacking| {
        commands.on::<Event>(Action::Choose(Chosen::Lanes(LanesChoices {
            stacking,
            ..choices
        })))
    };
    let grouped = Stacking {
        by_group: !by_group,
        only_found,
    };
    let found = Stacking {
        by_group,
        only_found: !only_found,
    };
    html! {
        <>
            { switch("", "Stack by colour", String::new(), "All of one colour together, the largest at the bottom; else in the order of birth",
                by_group, choose(grouped)) }
            { switch("", "Stack only what is found", String::new(), "With a search: what does not match it is left out instead of dimmed",
                only_found, choose(found)) }
        </>
    }
}

/// The switch for the capacity's line, and the field for the capacity.
fn capacity(props: &LineControlsProps, is_on: bool, commands: &Commands) -> Html {
    let (facts, choices) = (&props.facts, props.choices);
    let known = choices.known_capacity(facts);
    let source = match (choices.capacity_bytes, &facts.lines.capacity) {
        (Some(_), _) => "as typed".to_owned(),
        (None, Some(capacity)) => lane_words::capacity(capacity),
        (None, None) => "Not recorded in this file. Type it, e.g. 80 GiB".to_owned(),
    };
    let switch = commands.on::<Event>(Action::Choose(Chosen::Lanes(LanesChoices {
        capacity: Some(!is_on),
        ..choices
    })));
    html! {
        <div class="row" title={source}>
            <label class="grow">
                <input type="checkbox" checked={is_on} disabled={known.is_none()} onchange={switch} />
                <span class="sample capacity" aria-hidden="true" />{ "Capacity" }
            </label>
            <input class="bytes" type="text" size="9" aria-label="Capacity of the device" placeholder="unknown"
                value={known.map(display::bytes).unwrap_or_default()} onchange={on_capacity(choices, commands)} />
        </div>
    }
}

/// Handles a typed capacity, or marks the field as invalid. An empty field stands for the file's
/// capacity.
fn on_capacity(choices: LanesChoices, commands: &Commands) -> Callback<Event> {
    let dispatch = commands.dispatch.clone();
    Callback::from(move |event: Event| {
        let Some(input) = event.target_dyn_into::<HtmlInputElement>() else {
            return;
        };
        let text = input.value();
        let capacity_bytes = typed_capacity(&text);
        let is_wrong = capacity_bytes.is_none() && !text.trim().is_empty();
        let _ = input.toggle_attribute_with_force("aria-invalid", is_wrong);
        if !is_wrong {
            let capacity = capacity_bytes.map(|_| true).or(choices.capacity);
            dispatch.emit(Action::Choose(Chosen::Lanes(LanesChoices {
                capacity,
                capacity_bytes,
                ..choices
            })));
        }
    })
}

fn switch(
    class: &'static str,
    name: &'static str,
    value: String,
    title: &'static str,
    is_on: bool,
    onchange: Callback<Event>,
) -> Html {
    html! {
        <label class="row" {title}>
            <span class="grow"><input type="checkbox" checked={is_on} {onchange} />
                if !class.is_empty() { <span class={classes!("sample", class)} aria-hidden="true" /> }{ name }</span>
            <span class="number">{ value }</span>
        </label>
    }
}

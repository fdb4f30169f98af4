//! Details of the pinned event: what happened, who asked for it, memory before and after, and the other events of its
//! allocation.

use vramscope_core::analysis::report::details::EventMark;
use vramscope_core::model::{Action as EventAction, DeviceIndex};
use vramscope_protocol::{EventAnswer, EventOf};
use vramscope_view::display;
use yew::prelude::*;

use super::stack::Stack;
use crate::components::commands::{Commands, use_commands};
use crate::components::copy_button::CopyButton;
use crate::components::hooks::use_answer;
use crate::components::site_label::site_label;
use crate::engine::Session;
use crate::state::{Action, Navigation, ViewKind, sentences};

#[derive(Properties, PartialEq)]
pub(super) struct EventPanelProps {
    pub(super) session: Session,
    pub(super) device: DeviceIndex,
    /// The moment after the event.
    pub(super) moment: u32,
    pub(super) view: ViewKind,
}

/// The event, with its stack.
#[component]
pub(super) fn EventPanel(props: &EventPanelProps) -> Html {
    let commands = use_commands();
    let question = EventOf {
        device: props.device,
        moment: props.moment,
    };
    let answered = use_answer(&props.session, Some(question));
    let answered = answered.filter(|answered| answered.question.device == props.device);
    let answer = answered.and_then(|answered| answered.answer);
    let Some(event) = answer.as_deref() else {
        return match props.moment {
            0 => {
                html! { <p class="muted">{ "The beginning of the recording: nothing has happened yet." }</p> }
            }
            _ => html! { <p class="muted">{ "…" }</p> },
        };
    };
    let known = &event.known;
    let is_failure = known.row.action == EventAction::Oom;
    let go = |label: &'static str, title: &'static str, action: Action| {
        html! { <button type="button" class="outlined" {title} onclick={commands.on(action)}>{ label }</button> }
    };
    html! {
        <>
            <p class={classes!("size", is_failure.then_some("failed"))}>{ display::bytes(known.row.bytes) }</p>
            <p><b>{ known.row.word.replace('_', " ") }</b><span class="muted">{ meaning(event) }</span></p>
            if !known.site.is_empty() { <p title={known.site.clone()}>{ site_label(&known.site) }</p> }
            if !known.operator.is_empty() { <p class="operator">{ &known.operator }</p> }
            <p class="muted">{ sentences::exact_bytes(known.row.bytes) }</p>
            <div class="row tools">
                { go("‹ Event", "The event before ([)", Action::Navigate(Navigation::Step(false))) }
                { go("Event ›", "The next event (])", Action::Navigate(Navigation::Step(true))) }
                if is_failure {
                    <button type="button" class="outlined" title="Why it failed, and what to try" onclick={commands.on_explain()}>{ "Explain" }</button>
                }
                if props.view != ViewKind::Allocator {
                    { go("Allocator", "Segments and blocks then, in the list of events", Action::View(ViewKind::Allocator)) }
                }
            </div>
            { rows(event) }
            { of_allocation(&commands, event) }
            <Stack title="Stack" frames={known.stack.clone()} nothing={NO_STACK} />
            if known.frames_left_out > 0 {
                <p class="muted">{ sentences::count_of(known.frames_left_out, "outer frame is left out", "outer frames are left out") }</p>
            }
        </>
    }
}

/// The sentence in place of a missing stack.
const NO_STACK: &str = "No stack was recorded for this event.";

fn meaning(event: &EventAnswer) -> String {
    match event.known.row.meaning() {
        "" => String::new(),
        meaning => format!(" · {meaning}"),
    }
}

/// Its number, time and place, and memory before and after it.
fn rows(event: &EventAnswer) -> Html {
    let (known, row) = (&event.known, &event.known.row);
    let change = |(before, after): (u64, u64)| match before == after {
        true => format!("{}, unchanged", display::bytes(after)),
        false => format!(
            "{} → {} ({})",
            display::bytes(before),
            display::bytes(after),
            display::bytes_change(before, after)
        ),
    };
    let time = row.since_start_us.map(|us| {
        let absolute = known.time_us.map(display::date_time);
        html! { <><dt>{ "Time" }</dt><dd title={absolute}>{ display::offset(us) }</dd></> }
    });
    let address = row.address.map(|address| {
        let text = display::address(address);
        html! { <><dt>{ "Address" }</dt><dd class="row"><span class="mono">{ text.clone() }</span><CopyButton {text} what="the address" /></dd></> }
    });
    let free = row.device_free_bytes.map(
        |bytes| html! { <><dt>{ "Free on the device" }</dt><dd>{ display::bytes(bytes) }</dd></> },
    );
    let pair =
        |(name, value): &(String, String)| html! { <><dt>{ name }</dt><dd>{ value }</dd></> };
    html! {
        <dl class="rows">
            <dt>{ "Event" }</dt><dd>{ display::count(u64::from(row.number) + 1) }</dd>
            { time }
            { free }
            { address }
            { for event.properties.iter().map(pair) }
            <dt>{ "Live" }</dt><dd>{ change(known.active_bytes) }</dd>
            if known.reserved_bytes != (0, 0) { <dt>{ "Reserved" }</dt><dd>{ change(known.reserved_bytes) }</dd> }
        </dl>
    }
}

/// The other events of its allocation as links, and the allocation itself; empty if the event is about none.
fn of_allocation(commands: &Commands, event: &EventAnswer) -> Html {
    let (Some(life), Some(allocation)) = (&event.known.life, event.known.row.allocation) else {
        return Html::default();
    };
    let now = event.known.row.number;
    let link = |(name, mark): (&'static str, EventMark)| {
        let onclick = commands.on(Action::ChooseEvent(mark.moment()));
        html! {
            <>
                <dt>{ name }</dt>
                <dd>if mark.number == now { { "by this event" } } else {
                    <button type="button" class="plain" title="Go to that event" {onclick}>{ sentences::event(mark) }</button>
                }</dd>
            </>
        }
    };
    let completed = life
        .free_completed
        .filter(|_| life.free_completed != life.free_requested);
    let marks = [
        ("Allocated", life.alloc),
        ("Free requested", life.free_requested),
        ("Freed", completed),
    ];
    html! {
        <section class="of-allocation">
            <div class="row"><h3 class="grow">{ "Its allocation " }<span class="mono">{ &event.known.row.name }</span></h3>
                <button type="button" class="outlined" title="All about the allocation, with the stack that made it"
                    onclick={commands.on(Action::Pin(allocation))}>{ "Pin" }</button></div>
            <dl class="rows">
                { for marks.into_iter().filter_map(|(name, mark)| Some((name, mark?))).map(link) }
                if life.alloc.is_none() { <dt>{ "Allocated" }</dt><dd>{ "before recording" }</dd> }
                <dt>{ "Lived" }</dt><dd>{ sentences::lifetime(life) }</dd>
            </dl>
        </section>
    }
}

//! The list of all events, with a field and buttons to go to a certain one.

use std::ops::Range;

use vramscope_core::analysis::report::details::EventMark;
use vramscope_core::model::Action as EventAction;
use vramscope_protocol::views::allocator::{Answer, Direction, EventLine, JumpTo, Question};
use vramscope_protocol::{Details, Look};
use vramscope_view::display;
use web_sys::HtmlInputElement;
use yew::prelude::*;

use crate::components::commands::use_commands;
use crate::components::hooks::use_answer;
use crate::components::site_label::site_label;
use crate::components::virtual_list::VirtualList;
use crate::engine::Session;
use crate::state::{Action, Shared};

/// Height of a row, CSS px.
const ROW_PX: f64 = 22.0;
/// Requested ranges start at multiples of this, so that scrolling does not ask for every row.
const STEP: u32 = 32;

#[derive(Properties, PartialEq)]
pub(super) struct EventsProps {
    pub(super) session: Session,
    pub(super) look: Look,
    pub(super) moment: u32,
    /// The last moment.
    pub(super) last: u32,
    pub(super) has_search: bool,
    /// Number of failed allocations.
    pub(super) ooms: u64,
    pub(super) pinned: Option<Shared<Details>>,
}

/// The list of events. Row `m` is the event that leads to moment `m`, row 0 the start of the
/// recording.
#[component]
pub(super) fn Events(props: &EventsProps) -> Html {
    let commands = use_commands();
    let window = use_state_eq(|| 0..2 * STEP);
    let question = Question::Events {
        device: props.look.device,
        filter: props.look.filter.clone(),
        first: window.start,
        count: window.end - window.start,
    };
    let answered = use_answer(&props.session, Some(question));
    let lines = answered.and_then(|answered| match answered.question {
        Question::Events { device, filter, .. }
            if (device, &filter) == (props.look.device, &props.look.filter) =>
        {
            answered.answer
        }
        _ => None,
    });
    let line_at = {
        let lines = lines.clone();
        move |row: u32| -> Option<EventLine> {
            let Answer::Events(lines) = &**lines.as_ref()? else {
                return None;
            };
            let first = lines.first()?.event.number + 1;
            lines.get(row.checked_sub(first)? as usize).cloned()
        }
    };
    let row = {
        let line_at = line_at.clone();
        Callback::from(move |row: u32| match row {
            0 => html! { <span class="muted">{ "Beginning of the recording" }</span> },
            row => line_at(row).map_or_else(|| waiting(row), |line| event_row(&line)),
        })
    };
    let row_classes = Callback::from(move |row: u32| {
        let line = line_at(row);
        let is_dim = line.as_ref().is_some_and(|line| !line.is_match);
        let is_oom = line.is_some_and(|line| line.event.action == EventAction::Oom);
        classes!(is_dim.then_some("dim"), is_oom.then_some("failed"))
    });
    let on_window = {
        let window = window.setter();
        Callback::from(move |seen: Range<u32>| {
            window.set(seen.start / STEP * STEP..(seen.end / STEP + 1) * STEP);
        })
    };
    let on_active = commands.dispatch.reform(Action::Moment);
    let on_choose = commands.dispatch.reform(Action::ChooseEvent);
    html! {
        <div class="state-events">
            <Jumps session={props.session.clone()} look={props.look.clone()} moment={props.moment} last={props.last}
                has_search={props.has_search} ooms={props.ooms} pinned={props.pinned.clone()} />
            <VirtualList label="Events" rows={props.last.saturating_add(1)} row_px={ROW_PX} {row} {row_classes}
                active={Some(props.moment)} {on_window} {on_active} on_click={on_choose.clone()} on_enter={on_choose} takes_focus=true />
        </div>
    }
}

fn waiting(row: u32) -> Html {
    html! { <span class="number">{ display::count(u64::from(row)) }</span> }
}

fn event_row(line: &EventLine) -> Html {
    let event = &line.event;
    let time = event.since_start_us.map(display::offset);
    let (sign, kind) = match event.action {
        EventAction::Alloc => ("+", "alloc"),
        EventAction::FreeCompleted => ("\u{2212}", "free"),
        EventAction::FreeRequested => ("", "free"),
        EventAction::SegmentAlloc | EventAction::SegmentMap => ("+", "segment"),
        EventAction::SegmentFree | EventAction::SegmentUnmap => ("\u{2212}", "segment"),
        EventAction::Oom => ("", "oom"),
        _ => ("", "other"),
    };
    let address = event.address.map(display::address);
    let what = if event.name.is_empty() {
        address.unwrap_or_default()
    } else {
        event.name.clone()
    };
    let title = [
        Some(what.clone()).filter(|what| !what.is_empty()),
        time.clone(),
        Some(display::bytes_exact(event.bytes)),
        Some(line.stream.clone()).filter(|stream| !stream.is_empty()),
        event
            .device_free_bytes
            .map(|bytes| format!("the device had {} free", display::bytes(bytes))),
        Some(line.site.clone()).filter(|site| !site.is_empty()),
    ];
    let title: Vec<_> = title.into_iter().flatten().collect();
    html! {
        <div class="event" title={title.join("\n")}>
            <span class="number muted">{ display::count(u64::from(event.number) + 1) }</span>
            <span class={classes!("word", kind)}>{ event.word.replace('_', " ") }</span>
            <span class="number amount">{ sign }{ display::bytes(event.bytes) }</span>
            <span class="time muted number">{ time }</span>
            <span class="name mono muted">{ what }</span>
            <span class="grow">{ site_label(&line.site) }</span>
        </div>
    }
}

#[derive(Properties, PartialEq)]
struct JumpsProps {
    session: Session,
    look: Look,
    moment: u32,
    last: u32,
    has_search: bool,
    ooms: u64,
    pinned: Option<Shared<Details>>,
}

/// The number of the current event, and buttons to the next or previous one of a kind.
#[component]
fn Jumps(props: &JumpsProps) -> Html {
    let commands = use_commands();
    let asked = use_state_eq(|| None::<Question>);
    let answered = use_answer(&props.session, (*asked).clone());
    let found = answered.as_ref().map(|answered| {
        let moment = match answered.answer.as_deref() {
            Some(Answer::Moment(moment)) => *moment,
            _ => None,
        };
        (answered.question.clone(), moment)
    });
    use_going(found.clone(), commands.dispatch.clone());
    let go = |to: JumpTo, direction: Direction| {
        let (asked, look, from) = (asked.clone(), props.look.clone(), props.moment);
        Callback::from(move |_: MouseEvent| {
            let count = match &*asked {
                Some(Question::Jump { count, .. }) => count.wrapping_add(1),
                _ => 0,
            };
            asked.set(Some(Question::Jump {
                device: look.device,
                filter: look.filter.clone(),
                from,
                direction,
                to,
                count,
            }));
        })
    };
    let pair = |word: &'static str, what: &'static str, to: JumpTo| {
        html! {
            <span class="jump">
                <button type="button" title={format!("Previous {what}")} onclick={go(to, Direction::Back)}>{ "‹" }</button>
                <span>{ word }</span>
                <button type="button" title={format!("Next {what}")} onclick={go(to, Direction::Forward)}>{ "›" }</button>
            </span>
        }
    };
    let nowhere = match (&found, &*asked) {
        (Some((question, None)), Some(asked)) if question == asked => Some("none further"),
        _ => None,
    };
    html! {
        <div class="state-jumps">
            <Number moment={props.moment} last={props.last} />
            { pair("segment", "event that maps or frees a segment", JumpTo::Segments) }
            if props.has_search { { pair("match", "event of what the search matches", JumpTo::Match) } }
            if props.ooms > 0 { { pair("OOM", "failed allocation", JumpTo::Oom) } }
            { of_pinned(props, &commands.dispatch) }
            if let Some(text) = nowhere { <span class="muted" role="status">{ text }</span> }
        </div>
    }
}

/// Goes to what was found. A failed request is pinned, as its stack tells why it was made.
#[hook]
fn use_going(found: Option<(Question, Option<u32>)>, dispatch: Callback<Action>) {
    use_effect_with(found, move |found| match found {
        Some((Question::Jump { to, .. }, Some(moment))) if *to == JumpTo::Oom => {
            dispatch.emit(Action::ChooseEvent(*moment));
        }
        Some((_, Some(moment))) => dispatch.emit(Action::Moment(*moment)),
        _ => {}
    });
}

/// Buttons to the events that allocated and freed the pinned allocation.
fn of_pinned(props: &JumpsProps, dispatch: &Callback<Action>) -> Html {
    let Some(details) = &props.pinned else {
        return Html::default();
    };
    let button = |word: &'static str, title: &'static str, moment: Option<u32>| {
        moment.map(|moment| {
            let onclick = dispatch.reform(move |_: MouseEvent| Action::Moment(moment));
            html! { <button type="button" {title} {onclick}>{ word }</button> }
        })
    };
    let life = &details.known.life;
    let freed = life.free_requested.or(life.free_completed);
    html! {
        <span class="jump">
            <span>{ "pinned" }</span>
            { button("alloc", "Go to the event that allocated what is pinned", life.alloc.map(EventMark::moment)) }
            { button("free", "Go to the event that freed what is pinned", freed.map(EventMark::moment)) }
        </span>
    }
}

#[derive(Properties, PartialEq)]
struct NumberProps {
    moment: u32,
    last: u32,
}

/// The number of the current event, in a field where another number can be typed.
#[component]
fn Number(props: &NumberProps) -> Html {
    let commands = use_commands();
    let last = props.last;
    let onchange = {
        let dispatch = commands.dispatch.clone();
        let now = props.moment;
        Callback::from(move |event: Event| {
            let Some(input) = event.target_dyn_into::<HtmlInputElement>() else {
                return;
            };
            let digits: String = input.value().chars().filter(char::is_ascii_digit).collect();
            match digits.parse::<u64>() {
                Ok(number) => {
                    let moment = number.min(u64::from(last)) as u32;
                    input.set_value(&display::count(u64::from(moment)));
                    dispatch.emit(Action::Moment(moment));
                }
                Err(_) => input.set_value(&display::count(u64::from(now))),
            }
        })
    };
    html! {
        <label class="state-number">
            { "event" }
            <input type="text" inputmode="numeric" aria-label="Go to event" value={display::count(u64::from(props.moment))} {onchange} />
            <span class="muted">{ format!("of {}", display::count(u64::from(last))) }</span>
        </label>
    }
}

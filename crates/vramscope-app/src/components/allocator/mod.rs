//! The allocator at one moment: the list of all events beside its segments with their blocks.
//!
//! The moment is the cursor's, which all views share; without one it is the peak.

mod events;
mod notes;
mod picture;
mod scrubber;
mod summary;
mod tip;

use yew::prelude::*;

use super::commands::{Commands, use_commands};
use super::view_props::ViewProps;
use crate::state::choices::AllocatorChoices;
use crate::state::{Action, Chosen, Navigation};
use events::Events;
use picture::StatePicture;
use scrubber::Scrubber;

/// Events by which Page Up and Page Down move.
const PAGE: i64 = 100;
/// Zoom factor of a key press.
const ZOOM_STEP: f64 = 1.5;

#[component]
pub(super) fn AllocatorView(props: &ViewProps) -> Html {
    let commands = use_commands();
    let facts = props.file.facts();
    let (peak, last) = facts.map_or((0, 0), |facts| (facts.peak_moment, facts.events));
    // Without a trace there is one moment, and nothing to step through.
    let has_trace = facts.is_some_and(|facts| facts.has_trace);
    let capacity_bytes = facts.and_then(|facts| props.choices.lanes.known_capacity(facts));
    let moment = props.view.cursor_moment().unwrap_or(peak).min(last);
    let keys = Keys {
        moment,
        last,
        peak,
        choices: props.choices.allocator.clone(),
    };
    let onkeydown = {
        let commands = commands.clone();
        Callback::from(move |event: KeyboardEvent| {
            if let Some(action) = keys.action(&event) {
                event.prevent_default();
                commands.dispatch.emit(action);
            }
        })
    };
    html! {
        <section class="view allocator" aria-label="Allocator" {onkeydown}>
            if has_trace {
                <Scrubber session={props.session.clone()} look={props.look.clone()} bounds={props.bounds}
                    {capacity_bytes} cursor_x={props.view.cursor_x()} />
            }
            <div class={classes!("state-panes", (!has_trace).then_some("state-only"))}>
                if has_trace { <Events session={props.session.clone()} look={props.look.clone()} {moment} {last}
                    has_search={props.look.filter.is_some()} ooms={facts.and_then(|facts| facts.ooms).unwrap_or(0)}
                    pinned={props.view.details.clone()} /> }
                <StatePicture session={props.session.clone()} look={props.look.clone()} {moment} {last}
                    pinned={props.view.pinned()} choices={props.choices.allocator.clone()}
                    choose={choose(&commands)} />
            </div>
        </section>
    }
}

fn choose(commands: &Commands) -> Callback<AllocatorChoices> {
    commands
        .dispatch
        .reform(|choices| Action::Choose(Chosen::Allocator(choices)))
}

/// The state that keys act on.
struct Keys {
    moment: u32,
    last: u32,
    peak: u32,
    choices: AllocatorChoices,
}

impl Keys {
    fn action(&self, event: &KeyboardEvent) -> Option<Action> {
        let is_typed = event
            .target_dyn_into::<web_sys::Element>()
            .is_some_and(|target| target.matches("input").unwrap_or(false));
        if event.default_prevented()
            || is_typed
            || event.ctrl_key()
            || event.meta_key()
            || event.alt_key()
        {
            return None;
        }
        let by = |events: i64| {
            let to = (i64::from(self.moment) + events).clamp(0, i64::from(self.last));
            Some(Action::Moment(to as u32))
        };
        let zoom = |factor| {
            Some(Action::Choose(Chosen::Allocator(
                self.choices.zoomed(factor),
            )))
        };
        match event.key().as_str() {
            "ArrowDown" | "ArrowRight" => by(1),
            "ArrowUp" | "ArrowLeft" => by(-1),
            "PageDown" => by(PAGE),
            "PageUp" => by(-PAGE),
            "Home" => Some(Action::Moment(0)),
            "End" => Some(Action::Moment(self.last)),
            "p" | "P" => Some(Action::Moment(self.peak)),
            "[" => Some(Action::Navigate(Navigation::Step(false))),
            "]" => Some(Action::Navigate(Navigation::Step(true))),
            "+" | "=" => zoom(ZOOM_STEP),
            "-" | "_" => zoom(1.0 / ZOOM_STEP),
            "0" => zoom(0.0),
            _ => None,
        }
    }
}

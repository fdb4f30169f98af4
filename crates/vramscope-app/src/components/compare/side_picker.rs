//! The choice of one side: file, device, moment.

use std::rc::Rc;

use vramscope_protocol::views::compare::{Answer, NamedMoments, Question};
use web_sys::{HtmlInputElement, HtmlSelectElement};
use yew::prelude::*;

use crate::components::commands::use_commands;
use crate::components::hooks::{use_answer, use_pools};
use crate::engine::{Session, SessionId};
use crate::state::choices::{CompareChoices, RecordingChoice, SideChoice, SideWhat, Which};
use crate::state::sides::{Side, choice_of, short_name, word};
use crate::state::{Shared, Tab};
use vramscope_core::model::DeviceIndex;
use vramscope_view::display;

#[derive(Properties, PartialEq)]
pub(super) struct SidePickerProps {
    pub(super) which: Which,
    pub(super) choices: CompareChoices,
    /// The side; `None` if its file or device is not open.
    pub(super) side: Option<Side>,
    pub(super) tabs: Vec<Rc<Tab>>,
    pub(super) current: SessionId,
    /// The memory pool that the comparison is narrowed to, as a search.
    pub(super) pool: Option<String>,
    pub(super) on_choose: Callback<CompareChoices>,
}

#[component]
pub(super) fn SidePicker(props: &SidePickerProps) -> Html {
    let commands = use_commands();
    let (letter, class) = match props.which {
        Which::Before => ("A", "side a"),
        Which::After => ("B", "side b"),
    };
    let choice = props.choices.side(props.which);
    let choose = {
        let (choices, which, on_choose) =
            (props.choices.clone(), props.which, props.on_choose.clone());
        Callback::from(move |side: SideChoice| on_choose.emit(choices.with_side(which, side)))
    };
    let session = props
        .side
        .as_ref()
        .and_then(|side| commands.session.emit(side.id))
        .map(|session| session.within(props.pool.as_deref()));
    html! {
        <fieldset {class}>
            <legend>{ letter }</legend>
            { files(props) }
            { devices(props, choice, &choose) }
            if props.side.as_ref().is_some_and(|side| side.events < 2) {
                <span class="muted">{ "at the dump" }</span>
            } else if let Some((side, session)) = props.side.as_ref().zip(session) {
                <MomentPicker key={side.id.0} {session} known_pools={known_pools(props, side.id)} pools={props.pool.clone()} side={side.clone()}
                    choice={choice.clone()} on_choose={choose.clone()} />
            }
        </fieldset>
    }
}

/// Index of the chosen option.
fn place_of(event: &Event) -> usize {
    let select = event.target_dyn_into::<HtmlSelectElement>();
    usize::try_from(select.map_or(0, |select| select.selected_index())).unwrap_or(0)
}

/// The drop-down list of open files; empty if there is only one.
fn files(props: &SidePickerProps) -> Html {
    let ready: Vec<&Rc<Tab>> = props
        .tabs
        .iter()
        .filter(|tab| tab.ready().is_some())
        .collect();
    if ready.len() < 2 && props.side.is_some() {
        return Html::default();
    }
    let ids: Vec<SessionId> = ready.iter().map(|tab| tab.id).collect();
    let onchange = {
        let (choices, tabs, which) = (props.choices.clone(), props.tabs.clone(), props.which);
        let (current, on_choose) = (props.current, props.on_choose.clone());
        let shown = shown_device(props);
        let missing = usize::from(props.side.is_none());
        Callback::from(move |event: Event| {
            let Some(&id) = place_of(&event)
                .checked_sub(missing)
                .and_then(|place| ids.get(place))
            else {
                return;
            };
            let of = |id, device| RecordingChoice {
                file: choice_of(&tabs, id),
                device,
            };
            on_choose.emit(choices.with_recording(which, of(id, None), &of(current, shown)));
        })
    };
    let chosen = props.side.as_ref().map(|side| side.id);
    let option = |tab: &&Rc<Tab>| {
        html! { <option title={tab.name.clone()} selected={chosen == Some(tab.id)}>{ short_name(tab, &props.tabs) }</option> }
    };
    html! {
        <select class="file" aria-label="File" {onchange}>
            if chosen.is_none() { <option selected={true}>{ "(not open)" }</option> }
            { for ready.iter().map(option) }
        </select>
    }
}

/// The current device of the current file.
fn shown_device(props: &SidePickerProps) -> Option<DeviceIndex> {
    let tab = props.tabs.iter().find(|tab| tab.id == props.current)?;
    Some(tab.ready()?.facts()?.device)
}

/// The memory pools that a file's facts are of.
fn known_pools(props: &SidePickerProps, id: SessionId) -> Option<String> {
    let tab = props.tabs.iter().find(|tab| tab.id == id)?;
    tab.ready()?.pools.clone()
}

/// The drop-down list of devices; empty if there is only one.
fn devices(props: &SidePickerProps, choice: &SideChoice, choose: &Callback<SideChoice>) -> Html {
    let Some(side) = props.side.as_ref().filter(|side| side.devices > 1) else {
        return Html::default();
    };
    let tab = props.tabs.iter().find(|tab| tab.id == side.id);
    let Some(file) = tab.and_then(|tab| tab.ready()) else {
        return Html::default();
    };
    let devices: Vec<_> = file
        .opened
        .devices
        .iter()
        .map(|facts| facts.device)
        .collect();
    let onchange = {
        let (choice, choose) = (choice.clone(), choose.clone());
        Callback::from(move |event: Event| {
            choose.emit(SideChoice {
                device: devices.get(place_of(&event)).copied(),
                ..choice.clone()
            });
        })
    };
    html! {
        <select class="device" aria-label="Device" {onchange}>
            { for file.opened.devices.iter().map(|facts| html! {
                <option selected={facts.device == side.device}>{ &facts.name }</option>
            }) }
        </select>
    }
}

#[derive(Properties, PartialEq)]
struct MomentPickerProps {
    session: Session,
    /// The memory pools that the page knows the side's moments of, and those that the comparison is narrowed to, as
    /// searches.
    known_pools: Option<String>,
    pools: Option<String>,
    side: Side,
    choice: SideChoice,
    on_choose: Callback<SideChoice>,
}

/// The choice of the moment: a named one, a step, or an event number.
#[component]
fn MomentPicker(props: &MomentPickerProps) -> Html {
    let side = &props.side;
    use_pools(
        &props.session,
        props.known_pools.as_deref(),
        props.pools.clone(),
    );
    let named = use_named_moments(&props.session, side.device);
    let named = named.as_ref().and_then(names);
    let moments: Vec<u32> = named.map_or(Vec::new(), |named| {
        named.moments.iter().map(|named| named.moment).collect()
    });
    let what = props.choice.what;
    // If a moment has several names, the first one is shown.
    let is_event = matches!(what, SideWhat::Event(_));
    let named_place = moments
        .iter()
        .position(|&moment| is_event && moment == side.moment);
    let option = |of: &SideWhat| html! { <option selected={what == *of}>{ word(*of, &side.places) }</option> };
    html! {
        <>
            <select class="what" aria-label="What of it" onchange={on_what(props, moments)}>
                { for SideWhat::NAMED.iter().map(option) }
                <option selected={is_event && named_place.is_none()}>{ word(SideWhat::Event(0), &side.places) }</option>
                if let Some(named) = named.filter(|named| !named.moments.is_empty()) {
                    <optgroup label="Named moments">
                        { for named.moments.iter().enumerate().map(|(place, of)| html! {
                            <option selected={named_place == Some(place)}>{ format!("{}, {}", of.name, display::event(u64::from(of.moment))) }</option>
                        }) }
                    </optgroup>
                }
            </select>
            <label class="event" title={format!("{}: type another event, 0 to {}", side.words, display::count(u64::from(side.events)))}>
                { "event" }
                <input type="text" inputmode="numeric" size="9" aria-label="Event"
                    value={display::count(u64::from(side.moment))} onchange={on_number(props)} />
            </label>
        </>
    }
}

/// The named moments of a device.
#[hook]
fn use_named_moments(session: &Session, device: DeviceIndex) -> Option<Shared<Answer>> {
    let question = Question::Moments { device };
    let answered = use_answer(session, Some(question.clone()))?;
    answered.answer.filter(|_| answered.question == question)
}

/// Handles a choice in the list: a fixed moment, "event", or one of the named `moments`.
fn on_what(props: &MomentPickerProps, moments: Vec<u32>) -> Callback<Event> {
    let (set, now) = (set_what(props), props.side.moment);
    Callback::from(move |event: Event| {
        let place = place_of(&event);
        let what = SideWhat::NAMED.get(place).copied().unwrap_or_else(|| {
            let named = place.checked_sub(SideWhat::NAMED.len() + 1);
            let moment = named.and_then(|place| moments.get(place));
            SideWhat::Event(moment.copied().unwrap_or(now))
        });
        set.emit(what);
    })
}

/// Handles a typed event number.
fn on_number(props: &MomentPickerProps) -> Callback<Event> {
    let set = set_what(props);
    Callback::from(move |event: Event| {
        let input = event.target_dyn_into::<HtmlInputElement>();
        let text = input.map_or(String::new(), |input| input.value());
        let digits: String = text.chars().filter(char::is_ascii_digit).collect();
        if let Ok(moment) = digits.parse() {
            set.emit(SideWhat::Event(moment));
        }
    })
}

fn set_what(props: &MomentPickerProps) -> Callback<SideWhat> {
    let choice = props.choice.clone();
    props.on_choose.reform(move |what| SideChoice {
        what,
        ..choice.clone()
    })
}

fn names(answer: &Shared<Answer>) -> Option<&NamedMoments> {
    match &**answer {
        Answer::Moments(named) => Some(named),
        _ => None,
    }
}

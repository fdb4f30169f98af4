//! The comparison of two moments, devices or files.
//!
//! One worker compares: the current file's, if that file is a side. If the other side is of another
//! file, its data is requested from that file's worker and passed on.

mod flame;
mod settings;
mod side_picker;
mod sites;
mod timelines;
mod totals;

use vramscope_protocol::Axis;
use vramscope_protocol::views::compare::{
    Answer, Compared, CurveAxis, Fold, FrameGrouping, HandedProfile, Question, SideData, SideSpec,
};
use yew::prelude::*;

use super::choice::{Choice, Select};
use super::commands::use_commands;
use super::hooks::{Answered, use_answer, use_painted};
use super::view_props::ViewProps;
use crate::engine::Session;
use crate::state::choices::{CompareChoices, ComparePanel, Which};
use crate::state::sides::{Side, compared, host, side};
use crate::state::{Action, Chosen, Shared, ViewKind};
use flame::FlamePanel;
use settings::SettingsPanel;
use side_picker::SidePicker;
use sites::SitesPanel;
use timelines::Timelines;
use totals::Totals;
use vramscope_core::analysis::compare::phases::different_phases;
use vramscope_core::analysis::properties::Property;
use vramscope_core::analysis::time::phase::PhasePeak;
use vramscope_view::display;
use vramscope_view::stacked_curves::COLUMNS;

/// The options for grouping call sites, in the order of the list.
const GROUPINGS: [(FrameGrouping, &str); 5] = [
    (FrameGrouping::Line, "line"),
    (FrameGrouping::Function, "function"),
    (FrameGrouping::File, "file"),
    (FrameGrouping::Module, "module"),
    (FrameGrouping::Package, "package"),
];

#[component]
pub(super) fn CompareView(props: &ViewProps) -> Html {
    let commands = use_commands();
    let choices = &compared(&props.choices.compare, &props.tabs, props.id);
    let choose = {
        let dispatch = commands.dispatch.clone();
        Callback::from(move |choices| dispatch.emit(Action::Choose(Chosen::Compare(choices))))
    };
    let sides = [&choices.before, &choices.after].map(|choice| side(choice, &props.tabs, props.id));
    let answered = use_comparison(props, &sides);
    let answer = answered
        .as_ref()
        .and_then(|(_, answered)| answered.answer.clone());
    use_painted("compare", answer.clone());
    let picker = |which: Which, side: &Option<Side>| {
        html! {
            <SidePicker {which} choices={choices.clone()} side={side.clone()} tabs={props.tabs.clone()} current={props.id} pool={props.search.pool()}
                on_choose={choose.clone()} />
        }
    };
    let swap = {
        let (choose, choices) = (choose.clone(), choices.clone());
        Callback::from(move |_: MouseEvent| choose.emit(choices.swapped()))
    };
    html! {
        <section class="view compare" aria-label="Compare" tabindex="0" data-scrolls="">
            { props.scope_note(ViewKind::Compare) }
            <div class="sides">
                { picker(Which::Before, &sides[0]) }
                <button type="button" class="outlined swap" title="Swap the sides" aria-label="Swap the sides" onclick={swap}>{ "⇄" }</button>
                { picker(Which::After, &sides[1]) }
            </div>
            { body(props, choices, &sides, answered, &choose) }
        </section>
    }
}

/// The contents below the choice of sides.
fn body(
    props: &ViewProps,
    choices: &CompareChoices,
    sides: &[Option<Side>; 2],
    answered: Option<(Session, Answered<Question>)>,
    choose: &Callback<CompareChoices>,
) -> Html {
    let [Some(before), Some(after)] = sides else {
        return html! { <p class="hint muted">{ "A file that was compared is not open: choose another one above, or open it (+)." }</p> };
    };
    let Some((session, answered)) = answered else {
        return html! { <p class="hint muted late">{ "Comparing…" }</p> };
    };
    let Some(compared) = answered.answer.and_then(|answer| pick(&answer)) else {
        return html! { <p class="hint muted">{ "There is nothing to compare." }</p> };
    };
    let theme = props.look.theme;
    let panel = match choices.panel {
        ComparePanel::Sites => html! {
            <SitesPanel session={session.clone()} compared={compared.clone()} choices={choices.clone()} {theme}
                has_colours={props.look.colour_by == Property::CallSite} on_choose={choose.clone()} />
        },
        ComparePanel::Flame => html! {
            <FlamePanel session={session.clone()} compared={compared.clone()} choices={choices.clone()} {theme} on_choose={choose.clone()} />
        },
        ComparePanel::Settings => html! { <SettingsPanel compared={compared.clone()} /> },
    };
    html! {
            <>
                { for compared.get().map(|compared| html! { <p class="headline">{ &compared.headline }</p> }) }
                { phases(&compared, is_one_recording(before, after), choices, choose) }
                <Totals compared={compared.clone()} />
    <Timelines compared={compared.clone()} titles={titles(before, after)} choices={choices.clone()} {theme} on_choose={choose.clone()} />
                <PanelBar compared={compared.clone()} choices={choices.clone()} on_choose={choose.clone()} />
                { panel }
            </>
        }
}

/// Whether both sides are moments of one recording.
fn is_one_recording(before: &Side, after: &Side) -> bool {
    (before.id, before.device) == (after.id, after.device)
}

/// A line that says that both sides are in different phases, with buttons for the peaks of the phases that both have:
/// of one recording these are the same moments.
fn phases(
    compared: &ComparedRef,
    is_one: bool,
    choices: &CompareChoices,
    choose: &Callback<CompareChoices>,
) -> Option<Html> {
    let compared = compared.get()?;
    let figures = [&compared.before.figures, &compared.after.figures];
    let found = different_phases(["A", "B"], figures)?;
    let same: &[_] = if is_one { &[] } else { &found.same };
    let button = |peaks: &[PhasePeak; 2]| {
        let [before, after] = peaks.map(|peak| display::bytes(peak.active_bytes));
        let (choices, peaks) = (choices.clone(), *peaks);
        let onclick =
            choose.reform(move |_: MouseEvent| choices.at_events(peaks.map(|peak| peak.moment)));
        html! {
            <button type="button" class="outlined" {onclick}>
                { format!("{} {before} → {after}", peaks[0].phase.word()) }
            </button>
        }
    };
    Some(html! {
        <p class="different-phases">
            { &found.sentence }
            if !same.is_empty() { { " Compare the peaks of one phase: " } }
            { for same.iter().map(button) }
        </p>
    })
}

/// The title of each recording; only one if both sides are moments of one recording.
fn titles(before: &Side, after: &Side) -> Vec<AttrValue> {
    let name = |side: &Side| match side.devices {
        1 => side.short_name.clone(),
        _ => format!("{} · {}", side.short_name, side.device_name),
    };
    if is_one_recording(before, after) {
        return vec![name(before).into()];
    }
    let both = [("A", before), ("B", after)];
    let title = |(letter, side)| format!("{letter}  {} · {}", name(side), side.words).into();
    both.into_iter().map(title).collect()
}

/// The comparison, if the answer is one.
fn pick(answer: &Shared<Answer>) -> Option<ComparedRef> {
    matches!(**answer, Answer::Compared(_)).then(|| ComparedRef(answer.clone()))
}

/// A comparison, as a reference to its answer.
#[derive(Clone, PartialEq)]
struct ComparedRef(Shared<Answer>);

impl ComparedRef {
    /// The comparison. Never `None`, because [`pick`] has checked the answer.
    fn get(&self) -> Option<&Compared> {
        match &*self.0 {
            Answer::Compared(compared) => Some(compared),
            _ => None,
        }
    }
}

/// Asks the workers of both sides. Returns the answer, and the session of the worker that compared.
#[hook]
fn use_comparison(
    props: &ViewProps,
    sides: &[Option<Side>; 2],
) -> Option<(Session, Answered<Question>)> {
    let commands = use_commands();
    let pool = props.search.pool();
    let sessions = (sides.each_ref()).map(|side| {
        let session = commands.session.emit(side.as_ref()?.id)?;
        Some(session.within(pool.as_deref()))
    });
    let both = sides[0].as_ref().zip(sides[1].as_ref());
    let host_id = both.map(|(before, after)| host(before, after, props.id));
    let host_place = usize::from(both.is_some_and(|(before, _)| Some(before.id) != host_id));
    let host = sessions[host_place]
        .clone()
        .unwrap_or_else(|| props.session.clone());
    let axis = curve_axis(both, props.look.axis);
    let naming = props.choices.compare.naming;
    let spec = |side: &Side| SideSpec {
        device: side.device,
        selection: side.selection,
        axis,
        columns: COLUMNS,
    };
    // At most one side belongs to another worker.
    let guest_place = 1 - host_place;
    let guest = sides[guest_place]
        .as_ref()
        .filter(|side| Some(side.id) != host_id);
    let guest_session = sessions[guest_place].clone().filter(|_| guest.is_some());
    let guest_session = guest_session.unwrap_or_else(|| host.clone());
    let profile_question = guest.map(|side| Question::Profile {
        side: spec(side),
        naming,
    });
    let profile = use_profile(&guest_session, profile_question);
    let data = |place: usize| {
        let side = sides[place].as_ref()?;
        if place == guest_place && guest.is_some() {
            profile.clone().map(SideData::Given)
        } else {
            Some(SideData::Here(spec(side)))
        }
    };
    let question = data(0)
        .zip(data(1))
        .map(|(before, after)| Question::Compare {
            before,
            after,
            naming,
        });
    let question = use_last_question(&host, question).filter(|_| both.is_some());
    let answered = use_answer(&host, question)?;
    Some((host, answered))
}

/// The unit of both curves' axis: time if chosen and both recordings have times.
fn curve_axis(both: Option<(&Side, &Side)>, axis: Axis) -> CurveAxis {
    let has_times = both.is_some_and(|(before, after)| before.has_times && after.has_times);
    if has_times && axis == Axis::Time {
        CurveAxis::Time
    } else {
        CurveAxis::Events
    }
}

/// Asks the other file's worker for its side.
#[hook]
fn use_profile(session: &Session, question: Option<Question>) -> Option<HandedProfile> {
    let answered = use_answer(session, question.clone())?;
    match &*answered.answer? {
        Answer::Profile(profile) if Some(&answered.question) == question.as_ref() => {
            Some(profile.clone())
        }
        _ => None,
    }
}

/// The question, or the last one to the same worker. While the other side's worker is being asked,
/// the previous comparison stays.
#[hook]
fn use_last_question(host: &Session, question: Option<Question>) -> Option<Question> {
    let last = use_mut_ref(|| None::<(Session, Question)>);
    let mut last = last.borrow_mut();
    if let Some(question) = question {
        *last = Some((host.clone(), question));
    }
    let (of, question) = last.as_ref()?;
    (of == host).then(|| question.clone())
}

#[derive(Properties, PartialEq)]
struct PanelBarProps {
    compared: ComparedRef,
    choices: CompareChoices,
    on_choose: Callback<CompareChoices>,
}

/// The parts of a comparison that can be shown, in the order of the buttons, with explanations.
const PANELS: [(ComparePanel, &str, &str); 3] = [
    (
        ComparePanel::Sites,
        "call sites",
        "what grew and what shrank, by place in the code",
    ),
    (
        ComparePanel::Flame,
        "flame graph",
        "the same by call path: red grew, blue shrank",
    ),
    (
        ComparePanel::Settings,
        "figures and settings",
        "the allocator's settings that differ, and all figures of both sides",
    ),
];

/// The choice of what is shown, and of how call sites are grouped.
#[component]
fn PanelBar(props: &PanelBarProps) -> Html {
    let choices = &props.choices;
    let Some(compared) = props.compared.get() else {
        return Html::default();
    };
    let panels = PANELS.map(|(_, word, meaning)| (word, meaning)).to_vec();
    let chosen = PANELS.iter().position(|(of, ..)| *of == choices.panel);
    let on_panel = changed(props, |choices, place| {
        choices.panel = PANELS
            .get(place)
            .map_or_else(Default::default, |(of, ..)| *of);
    });
    let settings = compared.settings.len();
    html! {
        <div class="panel-bar">
            <Choice label="Comparison" options={panels} chosen={chosen.unwrap_or(0)} on_choose={on_panel.clone()} />
            if choices.panel != ComparePanel::Settings {
                <span title="How call sites of both sides are matched; choose function if lines have moved">
                    { groupings(props) }
                </span>
            }
            if choices.panel == ComparePanel::Flame { { folds(props) } }
            if choices.panel == ComparePanel::Sites { <sites::Controls choices={choices.clone()} compared={props.compared.clone()} on_choose={props.on_choose.clone()} /> }
            if choices.panel == ComparePanel::Flame { <flame::Controls choices={choices.clone()} on_choose={props.on_choose.clone()} /> }
            <span class="grow" />
            if settings > 0 && choices.panel != ComparePanel::Settings {
                <button type="button" class="plain" onclick={on_panel.reform(|_: MouseEvent| 2)}>
                    { crate::state::sentences::count_of(settings as u64, "setting differs", "settings differ") }
                </button>
            }
        </div>
    }
}

/// A callback that changes the choices by the index chosen in a list.
fn changed(props: &PanelBarProps, change: fn(&mut CompareChoices, usize)) -> Callback<usize> {
    let choices = props.choices.clone();
    props.on_choose.reform(move |place| {
        let mut choices = choices.clone();
        change(&mut choices, place);
        choices
    })
}

/// The drop-down list of [`GROUPINGS`].
fn groupings(props: &PanelBarProps) -> Html {
    let options: Vec<AttrValue> = GROUPINGS.iter().map(|(_, name)| (*name).into()).collect();
    let grouping = props.choices.naming.grouping;
    let chosen = GROUPINGS.iter().position(|(of, _)| *of == grouping);
    let on_choose = changed(props, |choices, place| {
        let grouping = GROUPINGS.get(place);
        choices.naming.grouping = grouping.map_or(FrameGrouping::Line, |(of, _)| *of);
        choices.focus = None;
    });
    html! { <Select label="Match by" {options} chosen={chosen.unwrap_or(0)} {on_choose} /> }
}

/// The drop-down list of the frames that are shown.
fn folds(props: &PanelBarProps) -> Html {
    let options: Vec<AttrValue> = Fold::ALL.iter().map(|(_, name)| (*name).into()).collect();
    let fold = props.choices.naming.fold;
    let chosen = Fold::ALL.iter().position(|(of, _)| *of == fold);
    let on_choose = changed(props, |choices, place| {
        choices.naming.fold = Fold::ALL.get(place).map_or(Fold::default(), |(of, _)| *of);
        choices.focus = None;
    });
    html! { <Select label="Frames" {options} chosen={chosen.unwrap_or(0)} {on_choose} /> }
}

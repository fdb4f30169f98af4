//! Small curves of all devices of all open files, to choose from. Empty while there is only one
//! device.

use vramscope_protocol::ThemeName;
use vramscope_protocol::views::compare::{Answer, CurveAxis, Curves, Question};
use yew::prelude::*;

use super::commands::{Commands, use_commands};
use super::drawing::drawing;
use super::file_tabs::oom_badge;
use super::hooks::{use_answer, use_plot_area};
use crate::canvas::PlotArea;
use crate::engine::{Session, SessionId};
use crate::state::choices::{CompareChoices, RecordingChoice, Which};
use crate::state::sides::{DeviceCard, cards, choice_of, compared, is_side, odd_one};
use crate::state::{Action, Chosen, State, ViewKind};
use vramscope_core::model::DeviceIndex;
use vramscope_view::chart::draw_curves_with_peak;
use vramscope_view::display;
use vramscope_view::scene::{Area, Scene, Style};
use vramscope_view::theme::Theme;

/// Columns of a curve.
const COLUMNS: u32 = 168;

#[derive(Properties, PartialEq)]
pub(super) struct AllStripProps {
    pub(super) state: UseReducerHandle<State>,
    pub(super) theme: ThemeName,
}

#[component]
pub(super) fn AllStrip(props: &AllStripProps) -> Html {
    let commands = use_commands();
    let state = &props.state;
    let cards = cards(&state.tabs);
    let Some(current) = state.current.filter(|_| cards.len() > 1) else {
        return Html::default();
    };
    let choices = &state.choices.compare;
    let fold = commands.on::<MouseEvent>(Action::Choose(Chosen::Compare(CompareChoices {
        strip_folded: !choices.strip_folded,
        ..choices.clone()
    })));
    if choices.strip_folded {
        let text = format!("Show all {} devices and files", cards.len());
        return html! { <nav class="all-strip folded"><button type="button" class="plain" onclick={fold}>{ text }</button></nav> };
    }
    // One scale for all cards, so that their curves can be compared.
    let top_bytes = cards.iter().map(|card| card.top_bytes).max().unwrap_or(0);
    let shown = state
        .file()
        .and_then(|file| file.facts())
        .map(|facts| facts.device);
    let sides = compared(choices, &state.tabs, current);
    let card = |card: &DeviceCard| {
        let Some(session) = commands.session.emit(card.id) else {
            return Html::default();
        };
        let is_current = card.id == current && Some(card.device) == shown;
        let sides = (state.view == ViewKind::Compare).then(|| {
            [Which::Before, Which::After]
                .map(|which| is_side(sides.side(which), card, &state.tabs, current))
        });
        html! {
            <Card key={format!("{}-{}", card.id.0, card.device)} {session} card={card.clone()} {top_bytes} {is_current} {sides}
                theme={props.theme} pick={on_pick(&commands, card)} on_side={on_side(&commands, state, card, (current, shown))} />
        }
    };
    html! {
        <nav class="all-strip" aria-label="All devices and files">
            { for cards.iter().map(card) }
            if let Some(odd) = odd_one(&cards) { { stands_out(&commands, state, odd) } }
            <button type="button" class="plain fold" title="Fold this strip away" onclick={fold}>{ "Fold" }</button>
        </nav>
    }
}

/// Which card stands out, and the comparison that tells why.
fn stands_out(
    commands: &Commands,
    state: &State,
    (odd, median): (&DeviceCard, &DeviceCard),
) -> Html {
    let of = |card: &DeviceCard| card.recording(&state.tabs);
    let choices = state.choices.compare.of_selection();
    let choices = choices.with_recording(Which::Before, of(median), &of(odd));
    let dispatch = commands.dispatch.clone();
    let onclick = Callback::from(move |_: MouseEvent| {
        dispatch.emit(Action::View(ViewKind::Compare));
        dispatch.emit(Action::Choose(Chosen::Compare(choices.clone())));
    });
    let peaks = format!(
        "{}, the median {}",
        display::bytes(odd.peak_bytes),
        display::bytes(median.peak_bytes)
    );
    html! {
        <p class="odd">
            <strong>{ odd.short_name() }</strong>{ " stands out" }<br />{ peaks }<br />
            <button type="button" class="plain" {onclick}>{ format!("Compare with {}", median.short_name()) }</button>
        </p>
    }
}

/// Switches to a card's file and device.
fn on_pick(commands: &Commands, card: &DeviceCard) -> Callback<MouseEvent> {
    let (dispatch, id, place) = (commands.dispatch.clone(), card.id, card.place);
    Callback::from(move |_: MouseEvent| {
        dispatch.emit(Action::Switch(id));
        dispatch.emit(Action::Device(place));
    })
}

/// Makes a card's device a side of the comparison; `shown` are the current file and device.
fn on_side(
    commands: &Commands,
    state: &State,
    card: &DeviceCard,
    shown: (SessionId, Option<DeviceIndex>),
) -> Callback<Which> {
    let (dispatch, tabs) = (commands.dispatch.clone(), state.tabs.clone());
    let (choices, id, device) = (state.choices.compare.clone(), card.id, card.device);
    Callback::from(move |which: Which| {
        let of = |(id, device)| RecordingChoice {
            file: choice_of(&tabs, id),
            device,
        };
        let choices = choices.with_recording(which, of((id, Some(device))), &of(shown));
        dispatch.emit(Action::Choose(Chosen::Compare(choices)));
    })
}

#[derive(Properties, PartialEq)]
struct CardProps {
    session: Session,
    card: DeviceCard,
    /// The upper end of all cards' scale.
    top_bytes: u64,
    is_current: bool,
    /// Whether it is side A and side B of the comparison; `None` outside the comparison view.
    sides: Option<[bool; 2]>,
    theme: ThemeName,
    pick: Callback<MouseEvent>,
    on_side: Callback<Which>,
}

/// The card of one device of a file.
#[component]
fn Card(props: &CardProps) -> Html {
    let node = use_node_ref();
    let area = use_plot_area(&node);
    let question = Question::Curves {
        device: props.card.device,
        axis: CurveAxis::Events,
        columns: COLUMNS,
    };
    let answer = use_answer(&props.session, Some(question)).and_then(|answered| answered.answer);
    let what = (answer, area, props.theme, props.top_bytes);
    let picture = use_memo(what, |(answer, area, theme, top_bytes)| {
        let Some(Answer::Curves(curves)) = answer.as_deref() else {
            return None;
        };
        Some(pictured(curves, (*area)?, *theme, *top_bytes))
    });
    let card = &props.card;
    let title = format!(
        "{}, {}: peak {} live, {} reserved",
        card.name,
        card.device_name,
        display::bytes(card.peak_bytes),
        card.peak_reserved
    );
    let side = |(which, letter, is_it): (Which, &'static str, bool)| {
        html! {
            <button type="button" aria-pressed={is_it.to_string()} title={format!("Compare it as {letter}")}
                onclick={props.on_side.reform(move |_: MouseEvent| which)}>{ letter }</button>
        }
    };
    html! {
        <div class={classes!("card", props.is_current.then_some("current"))} ref={node}>
            <button type="button" aria-current={props.is_current.then_some("true")} {title} onclick={props.pick.clone()}>
                { (*picture).clone() }
                <span class="name"><span>{ card.short_name() }</span>{ oom_badge(card.ooms) }<span class="number">{ display::bytes(card.peak_bytes) }</span></span>
            </button>
            if let Some([a, b]) = props.sides {
                <span class="as">{ side((Which::Before, "A", a)) }{ side((Which::After, "B", b)) }</span>
            }
        </div>
    }
}

/// Draws the curves, with a dot at the peak.
fn pictured(curves: &Curves, area: PlotArea, theme: ThemeName, top_bytes: u64) -> Html {
    let theme = Theme::of(theme);
    let style = Style::new(&theme, area.pixel_ratio);
    let (width_px, height_px) = (area.box_px().0, style.px(HEIGHT_CSS).max(1) as u32);
    let air = style.px(AIR_CSS);
    let place = Area {
        x_px: 0,
        y_px: air,
        width_px,
        height_px: height_px.saturating_sub(air.unsigned_abs()),
    };
    let values = (&curves.active_bytes[..], &curves.reserved_bytes[..]);
    let mut scene = Scene::default();
    draw_curves_with_peak(&mut scene, &place, values, top_bytes, &style);
    drawing(&scene, (width_px, height_px))
}

/// Height of the curves, and of the space above them; the style sheet has the same values.
const HEIGHT_CSS: f64 = 32.0;
const AIR_CSS: f64 = 3.0;

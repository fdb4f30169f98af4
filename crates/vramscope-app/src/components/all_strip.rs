//! All devices of all open files as small curves, to pick from. Nothing while there is only one.

use plotters::prelude::*;
use yew::prelude::*;

use super::commands::use_commands;
use super::hooks::{use_answer, use_plot_area};
use crate::canvas::PlotArea;
use crate::engine::Session;
use crate::protocol::ThemeName;
use crate::protocol::views::compare::{Answer, CurveAxis, Curves, Question};
use crate::state::choices::{CompareChoices, RecordingChoice, Which};
use crate::state::sides::{DeviceCard, cards, choice_of, is_side};
use crate::state::{Action, Chosen, State, ViewKind, sentences};
use vramscope_view::chart::{Area, Style, draw_curves, rgb};
use vramscope_view::display;
use vramscope_view::theme::Theme;

/// Columns of a curve.
const COLUMNS: u32 = 168;

/// Properties of [`AllStrip`].
#[derive(Properties, PartialEq)]
pub(super) struct AllStripProps {
    pub(super) state: UseReducerHandle<State>,
    pub(super) theme: ThemeName,
}

/// The strip.
#[component]
pub(super) fn AllStrip(props: &AllStripProps) -> Html {
    let commands = use_commands();
    let state = &props.state;
    let cards = cards(&state.tabs);
    let Some(current) = state.current.filter(|_| cards.len() > 1) else {
        return Html::default();
    };
    let choices = &state.choices.compare;
    let fold = {
        let (choices, dispatch) = (choices.clone(), commands.dispatch.clone());
        Callback::from(move |_: MouseEvent| {
            let choices = CompareChoices {
                strip_folded: !choices.strip_folded,
                ..choices.clone()
            };
            dispatch.emit(Action::Choose(Chosen::Compare(choices)));
        })
    };
    if choices.strip_folded {
        let text = format!("Show all {} devices and files", cards.len());
        return html! { <nav class="all-strip folded"><button type="button" class="plain" onclick={fold}>{ text }</button></nav> };
    }
    // One scale for all: what is higher has more.
    let top_bytes = cards.iter().map(|card| card.top_bytes).max().unwrap_or(0);
    let shown = state
        .file()
        .and_then(|file| file.facts())
        .map(|facts| facts.device);
    let card = |card: &DeviceCard| {
        let Some(session) = commands.session.emit(card.id) else {
            return Html::default();
        };
        let is_current = card.id == current && Some(card.device) == shown;
        let pick = {
            let (dispatch, id, place) = (commands.dispatch.clone(), card.id, card.place);
            Callback::from(move |_: MouseEvent| {
                dispatch.emit(Action::Switch(id));
                dispatch.emit(Action::Device(place));
            })
        };
        let on_side = {
            let (dispatch, choices, tabs) = (
                commands.dispatch.clone(),
                choices.clone(),
                state.tabs.clone(),
            );
            let (id, device) = (card.id, card.device);
            Callback::from(move |which: Which| {
                let of = |id, device| RecordingChoice {
                    file: choice_of(&tabs, id),
                    device,
                };
                let choices =
                    choices.with_recording(which, of(id, Some(device)), &of(current, shown));
                dispatch.emit(Action::Choose(Chosen::Compare(choices)));
            })
        };
        let sides = (state.view == ViewKind::Compare).then(|| {
            [Which::Before, Which::After]
                .map(|which| is_side(choices.side(which), card, &state.tabs, current))
        });
        html! {
            <Card key={format!("{}-{}", card.id.0, card.device)} {session} card={card.clone()} {top_bytes} {is_current} {sides}
                theme={props.theme} {pick} {on_side} />
        }
    };
    html! {
        <nav class="all-strip" aria-label="All devices and files">
            { for cards.iter().map(card) }
            <button type="button" class="plain fold" title="Fold this strip away" onclick={fold}>{ "Fold" }</button>
        </nav>
    }
}

#[derive(Properties, PartialEq)]
struct CardProps {
    session: Session,
    card: DeviceCard,
    /// The upper edge of all cards.
    top_bytes: u64,
    is_current: bool,
    /// Whether it is side A, side B, of the comparison that is shown; `None` while none is.
    sides: Option<[bool; 2]>,
    theme: ThemeName,
    pick: Callback<MouseEvent>,
    on_side: Callback<Which>,
}

/// One device of one file.
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
        Some(Html::from_html_unchecked(
            svg(curves, (*area)?, *theme, *top_bytes).into(),
        ))
    });
    let card = &props.card;
    let title = format!(
        "{}, {}: peak {} active, {} reserved",
        card.name,
        sentences::device_name(card.device),
        display::bytes(card.peak_bytes),
        display::bytes(card.peak_reserved_bytes)
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
                <span class="name"><span>{ card.short_name() }</span><span class="number">{ display::bytes(card.peak_bytes) }</span></span>
            </button>
            if let Some([a, b]) = props.sides {
                <span class="as">{ side((Which::Before, "A", a)) }{ side((Which::After, "B", b)) }</span>
            }
        </div>
    }
}

/// The curves, and the peak as a dot.
fn svg(curves: &Curves, area: PlotArea, theme: ThemeName, top_bytes: u64) -> String {
    let mut svg = String::new();
    // Drawing into text cannot fail.
    let _ = draw(&mut svg, curves, area, &Theme::of(theme), top_bytes);
    svg
}

fn draw(
    svg: &mut String,
    curves: &Curves,
    area: PlotArea,
    theme: &Theme,
    top_bytes: u64,
) -> Result<(), Box<dyn std::error::Error>> {
    let style = Style {
        theme,
        font: "system-ui, sans-serif",
        pixel_ratio: area.pixel_ratio,
    };
    let (width_px, height_px) = (area.box_px().0, style.px(HEIGHT_CSS).max(1) as u32);
    let air = style.px(AIR_CSS);
    let place = Area {
        x_px: 0,
        y_px: air,
        width_px,
        height_px: height_px.saturating_sub(air.unsigned_abs()),
    };
    let root = SVGBackend::with_string(svg, (width_px, height_px)).into_drawing_area();
    let values = (&curves.active_bytes[..], &curves.reserved_bytes[..]);
    let top = top_bytes.max(1) as f64;
    draw_curves(&root, &place, values, top, &style)?;
    if let Some((x, y)) = vramscope_view::chart::highest_point(&place, &curves.active_bytes, top) {
        root.draw(&Circle::new(
            (x, y),
            style.px(2.0).max(1),
            rgb(theme.accent).filled(),
        ))?;
    }
    root.present()?;
    Ok(())
}

/// Height of the curves, and of the air above them: as the style sheet has it.
const HEIGHT_CSS: f64 = 32.0;
const AIR_CSS: f64 = 3.0;

//! The signed flame graph: red grew, blue shrank.

use web_sys::{Element, HtmlCanvasElement};
use yew::prelude::*;

use super::ComparedRef;
use crate::canvas::draw_flame;
use crate::components::choice::{Choice, Select};
use crate::components::commands::use_commands;
use crate::components::hooks::{use_answer, use_painted, use_plot_area};
use crate::components::site_label::site_label;
use crate::components::tooltip;
use crate::engine::Session;
use crate::protocol::ThemeName;
use crate::protocol::views::compare::{
    Answer, ChangeUnit, FlameWidth, Question, SignedBox, SignedFlame,
};
use crate::state::choices::CompareChoices;
use crate::state::figures::{direction_class, row_search};
use crate::state::{Action, Shared, sentences};
use vramscope_core::analysis::profile::Amount;
use vramscope_view::display;
use vramscope_view::flame::{FlameCell, NodeKey, ROW_CSS, Shape, Step};

/// Properties of [`FlamePanel`].
#[derive(Properties, PartialEq)]
pub(super) struct FlamePanelProps {
    pub(super) session: Session,
    pub(super) compared: ComparedRef,
    pub(super) choices: CompareChoices,
    pub(super) theme: ThemeName,
    pub(super) on_choose: Callback<CompareChoices>,
}

/// A box that is pointed at, and where the pointer is in the box of the view.
#[derive(Clone, Copy, PartialEq)]
struct Pointed {
    place: usize,
    at: (f64, f64),
}

/// The graph.
#[component]
pub(super) fn FlamePanel(props: &FlamePanelProps) -> Html {
    let commands = use_commands();
    let (scroller, canvas) = (use_node_ref(), use_node_ref());
    let area = use_plot_area(&scroller);
    let scroll = use_state_eq(|| 0.0_f64);
    let pointed = use_state_eq(|| None::<Pointed>);
    let choices = &props.choices;
    let question = area
        .zip(props.compared.get())
        .map(|(area, compared)| Question::Flame {
            comparison: compared.id,
            width: choices.width,
            unit: choices.unit,
            focus: choices.focus,
            width_px: area.box_width_css,
            theme: props.theme,
        });
    let answer = use_answer(&props.session, question).and_then(|answered| answered.answer);
    use_painted("compare-flame", answer.clone());
    let (theme, top) = (props.theme, *scroll);
    {
        let canvas = canvas.clone();
        use_effect_with(
            (area, answer.clone(), top, theme),
            move |(area, answer, top, theme)| {
                let scene = answer.as_ref().and_then(flame_of).map(|flame| &flame.scene);
                if let (Some(canvas), Some(area), Some(scene)) =
                    (canvas.cast::<HtmlCanvasElement>(), area, scene)
                {
                    draw_flame(&canvas, area, scene, Shape::Icicle, *top, *theme);
                }
            },
        );
    }
    {
        // Other boxes, other places.
        let pointed = pointed.setter();
        use_effect_with(answer.clone(), move |_| pointed.set(None));
    }
    let flame = answer.as_ref().and_then(flame_of);
    let focus = props.on_choose.reform({
        let choices = choices.clone();
        move |focus: Option<NodeKey>| CompareChoices {
            focus,
            ..choices.clone()
        }
    });
    let onscroll = {
        let (scroll, scroller) = (scroll.setter(), scroller.clone());
        Callback::from(move |_: Event| {
            let top = scroller
                .cast::<Element>()
                .map_or(0, |list| list.scroll_top());
            scroll.set(f64::from(top));
        })
    };
    let hit = {
        let (answer, scroller) = (answer.clone(), scroller.clone());
        move |event: &MouseEvent| {
            let list = scroller.cast::<Element>()?;
            let bounds = list.get_bounding_client_rect();
            let at = (
                f64::from(event.client_x()) - bounds.left(),
                f64::from(event.client_y()) - bounds.top(),
            );
            let scene = &answer.as_ref().and_then(flame_of)?.scene;
            let place = scene.hit(Shape::Icicle, at.0, at.1 + f64::from(list.scroll_top()))?;
            Some((Pointed { place, at }, scene.cells[place].key))
        }
    };
    let onpointermove = {
        let (pointed, hit) = (pointed.setter(), hit.clone());
        Callback::from(move |event: PointerEvent| {
            pointed.set(hit(&event).map(|(pointed, _)| pointed))
        })
    };
    let onpointerleave = {
        let pointed = pointed.setter();
        Callback::from(move |_: PointerEvent| pointed.set(None))
    };
    let onclick = {
        let focus = focus.clone();
        Callback::from(move |event: MouseEvent| {
            if let Some((_, key)) = hit(&event) {
                focus.emit((key != NodeKey::ROOT).then_some(key));
            }
        })
    };
    let onkeydown = on_keys(&answer, &pointed, &focus, *scroll);
    let room = area.map_or((0.0, 0.0), |area| (area.box_width_css, area.box_height_css));
    let height = flame
        .map_or(0.0, |flame| f64::from(flame.scene.rows) * ROW_CSS)
        .max(room.1);
    let over = pointed.zip(flame).and_then(|(pointed, flame)| {
        Some((
            pointed,
            flame.scene.cells.get(pointed.place)?,
            flame.boxes.get(pointed.place)?,
        ))
    });
    let search = {
        let (dispatch, grouping) = (commands.dispatch.clone(), choices.naming.grouping);
        Callback::from(move |label: String| {
            if let Some(text) = row_search(grouping, &label) {
                dispatch.emit(Action::Search(text));
            }
        })
    };
    html! {
        <>
            { head(flame, &focus, &search) }
            <div class="signed-flame">
                <div class="flame-scroll" ref={scroller} tabindex="0" data-scrolls="" role="img" aria-label="Call paths: red grew, blue shrank"
                    data-boxes={flame.map(|flame| flame.scene.cells.len().to_string())}
                    {onscroll} {onpointermove} {onpointerleave} {onclick} {onkeydown}>
                    <div class="flame-content" style={format!("height:{height}px")}>
                        <canvas ref={canvas} style={format!("height:{}px", room.1)} />
                        if let Some((_, cell, _)) = &over { { outline(cell) } }
                    </div>
                </div>
                if let Some((pointed, cell, of)) = over {
                    <div class="tooltip" role="tooltip" style={tooltip::position(pointed.at, room)}>{ tip(cell, of) }</div>
                }
                if flame.is_some_and(|flame| flame.scene.cells.len() < 2) {
                    <p class="hint muted">{ "Nothing here has a width: choose another one above." }</p>
                }
            </div>
        </>
    }
}

fn flame_of(answer: &Shared<Answer>) -> Option<&SignedFlame> {
    match &**answer {
        Answer::Flame(flame) => Some(flame),
        _ => None,
    }
}

fn outline(cell: &FlameCell) -> Html {
    let style = format!(
        "left:{}px;top:{}px;width:{}px;height:{}px",
        cell.x_px,
        f64::from(cell.row) * ROW_CSS,
        cell.width_px.max(2.0),
        ROW_CSS - 1.0
    );
    html! { <div class="flame-outline" {style} /> }
}

/// A box in words.
fn tip(cell: &FlameCell, of: &SignedBox) -> Html {
    let (before, after) = (of.change.before, of.change.after);
    let side = |amount: Amount| sentences::allocations(amount.count, amount.bytes);
    let name = if cell.smaller > 0 {
        html! { <p>{ format!("{} of what it calls, too narrow to show; all of it:", display::count(u64::from(cell.smaller))) }</p> }
    } else {
        html! { <p>{ site_label(&of.name) }</p> }
    };
    html! {
        <>
            <p><strong class={direction_class(after.bytes.cmp(&before.bytes))}>{ display::bytes_change(before.bytes, after.bytes) }</strong>
                <span class="muted">{ format!(" · {} allocations", display::count_change(before.count, after.count)) }</span></p>
            { name }
            <p class="muted">{ format!("A {} · B {}", side(before), side(after)) }</p>
        </>
    }
}

/// What is in focus, and the way back.
fn head(
    flame: Option<&SignedFlame>,
    focus: &Callback<Option<NodeKey>>,
    search: &Callback<String>,
) -> Html {
    let focused = flame.and_then(|flame| {
        let cells = &flame.scene.cells;
        let last = cells.iter().take_while(|cell| cell.is_above).last()?;
        let place = cells.iter().position(|cell| !cell.is_above)?;
        Some((last.key, flame.boxes.get(place)?))
    });
    let Some((above, focused)) = focused else {
        return html! {
            <p class="flame-key muted">
                <i class="swatch grew" />{ "grew" }<i class="swatch shrank" />{ "shrank" }<i class="swatch same" />{ "unchanged" }
                <span class="grow" />{ "click a box to go closer" }
            </p>
        };
    };
    let (name, change) = (&focused.name, focused.change);
    let label = name.clone();
    let search = search.reform(move |_: MouseEvent| label.clone());
    html! {
        <div class="flame-key">
            <span class="label" title={name.clone()}>{ site_label(name) }</span>
            <strong class={direction_class(change.after.bytes.cmp(&change.before.bytes))}>{ display::bytes_change(change.before.bytes, change.after.bytes) }</strong>
            <span class="grow" />
            <button type="button" class="outlined" title="Show what is above (Backspace)" onclick={focus.reform(move |_: MouseEvent| (above != NodeKey::ROOT).then_some(above))}>{ "Up" }</button>
            <button type="button" class="outlined" title="Show everything (Escape)" onclick={focus.reform(|_: MouseEvent| None)}>{ "All" }</button>
            <button type="button" class="outlined" title="Search for what has this on its stack, in all views" onclick={search}>{ "Search for it" }</button>
        </div>
    }
}

/// Arrows go from box to box, Enter goes closer, Backspace back, Escape shows everything again.
fn on_keys(
    answer: &Option<Shared<Answer>>,
    pointed: &UseStateHandle<Option<Pointed>>,
    focus: &Callback<Option<NodeKey>>,
    scroll: f64,
) -> Callback<KeyboardEvent> {
    let (answer, pointed, focus) = (answer.clone(), pointed.clone(), focus.clone());
    Callback::from(move |event: KeyboardEvent| {
        let Some(flame) = answer.as_ref().and_then(flame_of) else {
            return;
        };
        let cells = &flame.scene.cells;
        let above = cells.iter().take_while(|cell| cell.is_above).last();
        let step = match event.key().as_str() {
            "ArrowLeft" => Step::Left,
            "ArrowRight" => Step::Right,
            "ArrowUp" => Step::Up,
            "ArrowDown" => Step::Down,
            "Enter" | " " => {
                if let Some(cell) = pointed.and_then(|pointed| cells.get(pointed.place)) {
                    focus.emit((cell.key != NodeKey::ROOT).then_some(cell.key));
                    event.prevent_default();
                }
                return;
            }
            "Backspace" if above.is_some() => {
                let up = above
                    .map(|cell| cell.key)
                    .filter(|key| *key != NodeKey::ROOT);
                focus.emit(up);
                return event.prevent_default();
            }
            "Escape" if above.is_some() => {
                focus.emit(None);
                // The pin, the cursor and the selection are let go of by the next one.
                event.stop_propagation();
                return event.prevent_default();
            }
            _ => return,
        };
        event.prevent_default();
        let next = flame
            .scene
            .step(Shape::Icicle, pointed.map(|pointed| pointed.place), step);
        if let Some((place, cell)) = next.and_then(|at| Some((at, cells.get(at)?))) {
            let at = (
                cell.x_px + cell.width_px.min(120.0) / 2.0,
                (f64::from(cell.row) + 0.5) * ROW_CSS - scroll,
            );
            pointed.set(Some(Pointed { place, at }));
        }
    })
}

/// Properties of [`Controls`].
#[derive(Properties, PartialEq)]
pub(super) struct ControlsProps {
    pub(super) choices: CompareChoices,
    pub(super) on_choose: Callback<CompareChoices>,
}

/// What widths say, and what is counted.
#[component]
pub(super) fn Controls(props: &ControlsProps) -> Html {
    const WIDTHS: [(FlameWidth, &str); 4] = [
        (FlameWidth::Either, "the larger side"),
        (FlameWidth::Difference, "the difference"),
        (FlameWidth::Before, "A"),
        (FlameWidth::After, "B"),
    ];
    let choices = &props.choices;
    let on_width = {
        let (choices, on_choose) = (choices.clone(), props.on_choose.clone());
        Callback::from(move |place: usize| {
            let width = WIDTHS
                .get(place)
                .map_or(FlameWidth::Either, |(width, _)| *width);
            on_choose.emit(CompareChoices {
                width,
                ..choices.clone()
            });
        })
    };
    let on_unit = {
        let (choices, on_choose) = (choices.clone(), props.on_choose.clone());
        Callback::from(move |place: usize| {
            let unit = if place == 1 {
                ChangeUnit::Count
            } else {
                ChangeUnit::Bytes
            };
            on_choose.emit(CompareChoices {
                unit,
                ..choices.clone()
            });
        })
    };
    let widths: Vec<AttrValue> = WIDTHS.iter().map(|(_, name)| (*name).into()).collect();
    let width = WIDTHS
        .iter()
        .position(|(width, _)| *width == choices.width)
        .unwrap_or(0);
    let units = vec![
        ("bytes", "widths and colours by requested bytes"),
        ("number", "widths and colours by number of allocations"),
    ];
    html! {
        <>
            <Select label="Width" options={widths} chosen={width} on_choose={on_width} />
            <Choice label="Unit" options={units} chosen={usize::from(choices.unit == ChangeUnit::Count)} on_choose={on_unit} />
        </>
    }
}

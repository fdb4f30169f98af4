//! A tree as boxes on a canvas.

use web_sys::{Element, HtmlCanvasElement};
use yew::prelude::*;

use super::sums;
use super::window::use_keys_on_show;
use crate::browser::download;
use crate::canvas::{PlotArea, draw_flame};
use crate::components::hooks::{use_answer, use_painted, use_plot_area};
use crate::components::tooltip;
use crate::engine::Session;
use crate::protocol::views::flame::{
    About, Answer, FlameScene, NodeKey, Question, Told, TrailStep, TreeKind, Wanted,
};
use crate::protocol::{Slot, ThemeName};
use crate::state::Shared;
use vramscope_view::flame::{FlameCell, ROW_CSS, Shape, Step, share_text, weight_text};

/// Properties of [`FlameChart`].
#[derive(Properties, PartialEq)]
pub(super) struct FlameChartProps {
    pub(super) session: Session,
    pub(super) theme: ThemeName,
    pub(super) about: About,
    pub(super) tree: TreeKind,
    pub(super) shape: Shape,
    /// What fills the width.
    #[prop_or_default]
    pub(super) focus: Option<NodeKey>,
    /// Whether to say above what the tree comes to, with what can be done about the focus.
    #[prop_or_default]
    pub(super) has_head: bool,
    /// A box is chosen.
    pub(super) on_choose: Callback<FlameCell>,
    /// Another focus is wanted.
    #[prop_or_default]
    pub(super) on_focus: Callback<Option<NodeKey>>,
    /// What has this label on its stack is to be searched for.
    #[prop_or_default]
    pub(super) on_search: Callback<String>,
    /// The function of this label is to be looked at from both sides.
    #[prop_or_default]
    pub(super) on_sandwich: Callback<String>,
}

/// What is drawn.
#[derive(Clone, PartialEq)]
struct Drawn {
    about: About,
    answer: Shared<Answer>,
}

impl Drawn {
    fn scene(&self) -> Option<&FlameScene> {
        match &self.answer.told {
            Told::Picture { scene, .. } => Some(scene),
            _ => None,
        }
    }

    fn trail(&self) -> &[TrailStep] {
        match &self.answer.told {
            Told::Picture { trail, .. } => trail,
            _ => &[],
        }
    }
}

/// A box that is pointed at: by its place among the cells, and where the pointer is in the box of the view.
#[derive(Clone, Copy, PartialEq)]
struct Pointed {
    place: usize,
    at: (f64, f64),
}

/// A flame graph.
#[component]
pub(super) fn FlameChart(props: &FlameChartProps) -> Html {
    let (scroller, canvas) = (use_node_ref(), use_node_ref());
    use_keys_on_show(&scroller);
    let area = use_plot_area(&scroller);
    let scroll = use_state_eq(|| 0.0_f64);
    let pointed = use_state_eq(|| None::<Pointed>);
    let question = area.map(|area| Question {
        about: props.about.clone(),
        theme: props.theme,
        wanted: Wanted::Picture {
            tree: props.tree.clone(),
            focus: props.focus.unwrap_or(NodeKey::ROOT),
            width_px: area.box_width_css,
        },
    });
    let answered = use_answer(&props.session, question);
    let device = props.about.device;
    let drawn = answered.and_then(|answered| {
        if answered.question.about.device != device {
            return None;
        }
        Some(Drawn {
            about: answered.question.about,
            answer: answered.answer?,
        })
    });
    use_painted("flame", drawn.as_ref().map(|drawn| drawn.answer.clone()));
    use_drawing(&canvas, area, &drawn, props.shape, *scroll, props.theme);
    {
        // Other boxes, other places.
        let pointed = pointed.setter();
        use_effect_with(drawn.clone(), move |_| pointed.set(None));
    }
    use_reveal(&scroller, &drawn, props);
    let scene = drawn.as_ref().and_then(Drawn::scene);
    let picture_css = scene.map_or(0.0, |scene| f64::from(scene.rows) * ROW_CSS);
    let box_css = area.map_or((0.0, 0.0), |area| (area.box_width_css, area.box_height_css));
    let content_css = picture_css.max(box_css.1);
    let top_css = margin(props.shape, picture_css, box_css.1);
    let cell = pointed
        .as_ref()
        .and_then(|pointed| Some((pointed, scene?.cells.get(pointed.place)?)));
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
        let (drawn, scroller, shape) = (drawn.clone(), scroller.clone(), props.shape);
        move |event: &MouseEvent| {
            let (scene, list) = (drawn.as_ref()?.scene()?, scroller.cast::<Element>()?);
            let bounds = list.get_bounding_client_rect();
            let at = (
                f64::from(event.client_x()) - bounds.left(),
                f64::from(event.client_y()) - bounds.top(),
            );
            let y_px = at.1 + f64::from(list.scroll_top()) - top_css;
            let place = scene.hit(shape, at.0, y_px)?;
            Some((Pointed { place, at }, scene.cells[place].clone()))
        }
    };
    let onpointermove = {
        let (pointed, hit) = (pointed.setter(), hit.clone());
        Callback::from(move |event: PointerEvent| {
            pointed.set(hit(&event).map(|(pointed, _)| pointed));
        })
    };
    let onpointerleave = {
        let pointed = pointed.setter();
        Callback::from(move |_: PointerEvent| pointed.set(None))
    };
    let onclick = {
        let on_choose = props.on_choose.clone();
        Callback::from(move |event: MouseEvent| {
            if let Some((_, cell)) = hit(&event) {
                on_choose.emit(cell);
            }
        })
    };
    let onkeydown = on_keys(props, &drawn, &pointed, top_css, *scroll);
    let outline = cell.map(|(_, cell)| {
        let row = props
            .shape
            .place(cell.row, scene.map_or(0, |scene| scene.rows));
        let y = f64::from(row) * ROW_CSS + top_css;
        let style = format!(
            "left:{}px;top:{y}px;width:{}px;height:{}px",
            cell.x_px,
            cell.width_px.max(2.0),
            ROW_CSS - 1.0
        );
        html! { <div class="flame-outline" {style} /> }
    });
    let tip = cell.zip(drawn.as_ref()).map(|((pointed, cell), drawn)| {
        let style = tooltip::position(pointed.at, box_css);
        html! { <div class="tooltip" role="tooltip" {style}>{ sums::of_cell(&drawn.about, &drawn.answer, cell) }</div> }
    });
    // Each place always has a node: an optional one would shift its neighbours onto each other's elements.
    html! {
        <>
        if props.has_head { { head(props, drawn.as_ref()) } }
        <div class="flame-chart">
            <div class="flame-scroll" ref={scroller} tabindex="0" data-scrolls="" role="img"
                aria-label={drawn.as_ref().map(|drawn| description(props, drawn))}
                data-boxes={scene.map(|scene| scene.cells.len().to_string())}
                {onscroll} {onpointermove} {onpointerleave} {onclick} {onkeydown}>
                <div class="flame-content" style={format!("height:{content_css}px")}>
                    <canvas ref={canvas} style={format!("height:{}px", box_css.1)} />
                    { outline.unwrap_or_default() }
                </div>
            </div>
            { tip.unwrap_or_default() }
            if drawn.as_ref().is_some_and(|drawn| drawn.answer.total.weight == 0) {
                <p class="flame-empty muted">{ nothing(&props.tree) }</p>
            }
        </div>
        </>
    }
}

/// Where the picture begins in its box: a flame stands on the floor.
fn margin(shape: Shape, picture_css: f64, box_css: f64) -> f64 {
    match shape {
        Shape::Icicle => 0.0,
        Shape::Flame => (box_css - picture_css).max(0.0),
    }
}

fn nothing(tree: &TreeKind) -> &'static str {
    match tree {
        TreeKind::TopDown | TreeKind::BottomUp => "No memory was allocated here.",
        TreeKind::Callers(_) | TreeKind::Callees(_) => "Nothing was allocated through it.",
    }
}

#[hook]
fn use_drawing(
    canvas: &NodeRef,
    area: Option<PlotArea>,
    drawn: &Option<Drawn>,
    shape: Shape,
    scroll_css: f64,
    theme: ThemeName,
) {
    let canvas = canvas.clone();
    let what = (area, drawn.clone(), shape, scroll_css, theme);
    use_effect_with(what, move |(area, drawn, shape, scroll_css, theme)| {
        let canvas = canvas.cast::<HtmlCanvasElement>();
        if let (Some(canvas), Some(area), Some(scene)) =
            (canvas, area, drawn.as_ref().and_then(Drawn::scene))
        {
            let picture_css = f64::from(scene.rows) * ROW_CSS;
            let top_css = margin(*shape, picture_css, area.box_height_css);
            draw_flame(&canvas, area, scene, *shape, scroll_css - top_css, *theme);
        }
    });
}

/// Scrolls to what is in focus when that, or the shape, changes: to the root at first.
#[hook]
fn use_reveal(scroller: &NodeRef, drawn: &Option<Drawn>, props: &FlameChartProps) {
    let scroller = scroller.clone();
    // Once there is something to scroll in.
    let focus = drawn
        .as_ref()
        .and_then(|drawn| Some(drawn.trail().last()?.key));
    let place = drawn.as_ref().and_then(|drawn| {
        let row = u32::try_from(drawn.trail().len()).ok()?.checked_sub(1)?;
        Some((row, drawn.scene()?.rows))
    });
    use_effect_with(
        (focus, props.shape, props.tree.clone()),
        move |(_, shape, _)| {
            let Some(((row, rows), list)) = place.zip(scroller.cast::<Element>()) else {
                return;
            };
            let height = f64::from(list.client_height());
            let top = f64::from(shape.place(row, rows)) * ROW_CSS;
            // With two rows of what is above the focus.
            let scroll = match shape {
                Shape::Icicle => top - 2.0 * ROW_CSS,
                Shape::Flame => top + 3.0 * ROW_CSS - height,
            };
            list.set_scroll_top(scroll.max(0.0) as i32);
        },
    );
}

/// Arrows go from box to box, Enter chooses, Backspace goes one up, Escape shows everything again.
fn on_keys(
    props: &FlameChartProps,
    drawn: &Option<Drawn>,
    pointed: &UseStateHandle<Option<Pointed>>,
    top_css: f64,
    scroll: f64,
) -> Callback<KeyboardEvent> {
    let (drawn, pointed, shape) = (drawn.clone(), pointed.clone(), props.shape);
    let (on_choose, on_focus) = (props.on_choose.clone(), props.on_focus.clone());
    Callback::from(move |event: KeyboardEvent| {
        let Some(drawn) = &drawn else { return };
        let Some(scene) = drawn.scene() else { return };
        let trail = drawn.trail();
        let step = match event.key().as_str() {
            "ArrowLeft" => Step::Left,
            "ArrowRight" => Step::Right,
            "ArrowUp" => Step::Up,
            "ArrowDown" => Step::Down,
            "Enter" | " " => {
                let cell = pointed.and_then(|pointed| scene.cells.get(pointed.place));
                if let Some(cell) = cell {
                    on_choose.emit(cell.clone());
                    event.prevent_default();
                }
                return;
            }
            "Backspace" if trail.len() > 1 => {
                on_focus.emit(Some(trail[trail.len() - 2].key));
                return event.prevent_default();
            }
            "Escape" if trail.len() > 1 => {
                on_focus.emit(None);
                return event.prevent_default();
            }
            _ => return,
        };
        event.prevent_default();
        let focus = trail.last().and_then(|step| scene.find(step.key));
        let next = match pointed.map(|pointed| pointed.place) {
            Some(from) => scene.step(shape, Some(from), step),
            None => focus.or(Some(0)),
        };
        let Some((place, cell)) = next.and_then(|at| Some((at, scene.cells.get(at)?))) else {
            return;
        };
        let y = f64::from(shape.place(cell.row, scene.rows)) * ROW_CSS + top_css - scroll;
        pointed.set(Some(Pointed {
            place,
            at: (
                cell.x_px + cell.width_px.min(120.0) / 2.0,
                y + ROW_CSS / 2.0,
            ),
        }));
        if let Some(list) = event.target_dyn_into::<Element>() {
            let height = f64::from(list.client_height());
            if y < 0.0 {
                list.set_scroll_top((scroll + y) as i32);
            } else if y + ROW_CSS > height {
                list.set_scroll_top((scroll + y + ROW_CSS - height) as i32);
            }
        }
    })
}

/// What the picture is of, for those who do not see it.
fn description(props: &FlameChartProps, drawn: &Drawn) -> String {
    let (about, answer) = (&drawn.about, &drawn.answer);
    let of = match &props.tree {
        TreeKind::TopDown => "Callers first".to_owned(),
        TreeKind::BottomUp => "Allocators first".to_owned(),
        TreeKind::Callers(function) => format!("Callers of {function}"),
        TreeKind::Callees(function) => format!("What {function} calls"),
    };
    format!("{of}: {}", weight_text(about.weight, answer.total.weight))
}

/// What all comes to, and what is in focus with what can be done about it.
fn head(props: &FlameChartProps, drawn: Option<&Drawn>) -> Html {
    let Some(drawn) = drawn else {
        return html! { <p class="flame-head muted">{ "Adding up…" }</p> };
    };
    let (about, answer) = (&drawn.about, &drawn.answer);
    let focus = match (&answer.told, drawn.trail()) {
        (Told::Picture { focus, .. }, [.., above, last]) => Some((focus, above, last)),
        _ => None,
    };
    let focus = focus.map(|(sums, above, last)| {
        let label = last.label.clone();
        let up = {
            let (on_focus, key) = (props.on_focus.clone(), above.key);
            Callback::from(move |_: MouseEvent| on_focus.emit(Some(key)))
        };
        let all = props.on_focus.reform(|_: MouseEvent| None);
        let search = {
            let label = label.clone();
            props.on_search.reform(move |_: MouseEvent| label.clone())
        };
        let sandwich = {
            let label = label.clone();
            props.on_sandwich.reform(move |_: MouseEvent| label.clone())
        };
        html! {
            <>
                <span class="flame-focus" title={label.clone()}>
                    { crate::components::site_label::site_label(&label) }
                </span>
                <span class="flame-share" title="what is in focus, and its share of all">{ format!("{}, {}", weight_text(about.weight, sums.weight), share_text(sums.weight, answer.whole.weight)) }</span>
                <button type="button" class="outlined" title="Show what is above (Backspace)" onclick={up}>{ "Up" }</button>
                <button type="button" class="outlined" title="Show everything (Escape)" onclick={all}>{ "All" }</button>
                if last.is_code {
                    <button type="button" class="outlined" title="Search for what has this on its stack, in all views" onclick={search}>{ "Search" }</button>
                    <button type="button" class="outlined" title="Who calls it, and what it calls, wherever it is" onclick={sandwich}>{ "Sandwich" }</button>
                }
            </>
        }
    });
    html! { <div class="flame-head">{ sums::whole(about, answer) }<span class="grow" />{ focus.unwrap_or_default() }{ folded_button(&props.session, about, props.theme, &props.tree) }</div> }
}

/// Questions asked by a click: never at the same time as another of the same kind.
const SLOT: Slot = Slot::MAX - 1;

/// Offers the tree to other programs.
pub(super) fn folded_button(
    session: &Session,
    about: &About,
    theme: ThemeName,
    tree: &TreeKind,
) -> Html {
    let (session, tree) = (session.clone(), tree.clone());
    let question = Question {
        about: about.clone(),
        theme,
        wanted: Wanted::Folded { tree },
    };
    let onclick = Callback::from(move |_: MouseEvent| {
        let name = format!("{}.folded.txt", session.name());
        session.ask_for(SLOT, question.clone().into(), move |answer, text| {
            if answer.is_some() && !text.is_null() {
                download::save(&name, "text/plain", &text);
            }
        });
    });
    html! {
        <button type="button" class="outlined" title="Download as folded stacks, which other flame graph programs read" {onclick}>{ "Folded" }</button>
    }
}

//! A list of any length whose invisible rows have no elements. It scrolls by wheel, scrollbar and
//! keys.
//!
//! The parent renders the rows and is told which rows exist, so that it can request their data. The
//! parent also holds the active row; the list marks it, and scrolls to it when it changes.

use std::ops::Range;

use gloo::events::{EventListener, EventListenerOptions};
use wasm_bindgen::JsCast;
use web_sys::{Element, FocusOptions, HtmlElement, KeyboardEvent, WheelEvent};
use yew::prelude::*;

use vramscope_view::scroll::Scroll;

use super::hooks::use_height;
use crate::browser::frame;

/// Rows rendered beyond the visible ones, so that scrolling shows no gap.
const MORE_ROWS: u32 = 12;
/// Requested ranges start at multiples of this, so that scrolling does not ask for every row.
const PIECE: u32 = 100;
/// Px per line of a wheel step, for browsers that count steps in lines.
const WHEEL_LINE_PX: f64 = 40.0;

/// The rows whose data are to be requested, and the list's [`on_window`](VirtualListProps::on_window) that tells them.
#[hook]
pub(super) fn use_window() -> (Range<u32>, Callback<Range<u32>>) {
    let window = use_state_eq(|| 0..PIECE);
    let set = window.setter();
    let on_window = Callback::from(move |rows: Range<u32>| {
        set.set(rows.start / PIECE * PIECE..rows.end.div_ceil(PIECE).max(1) * PIECE);
    });
    ((*window).clone(), on_window)
}

#[derive(Properties, PartialEq)]
pub(super) struct VirtualListProps {
    /// The name of the list, for screen readers.
    pub(super) label: AttrValue,
    /// The prefix of the rows' ids, for pages with several lists.
    #[prop_or(AttrValue::Static("vrow"))]
    pub(super) ids: AttrValue,
    /// Number of rows.
    pub(super) rows: u32,
    /// Height of a row, CSS px.
    pub(super) row_px: f64,
    /// Renders a row.
    pub(super) row: Callback<u32, Html>,
    /// Additional style classes of a row.
    #[prop_or_default]
    pub(super) row_classes: Option<Callback<u32, Classes>>,
    /// The row from which keys move; the list scrolls to it when it changes.
    #[prop_or_default]
    pub(super) active: Option<u32>,
    /// Called with the range of rendered rows, which exceeds the visible ones.
    #[prop_or_default]
    pub(super) on_window: Callback<Range<u32>>,
    /// Called when a row is reached with keys.
    #[prop_or_default]
    pub(super) on_active: Callback<u32>,
    /// Called when a row is clicked; by default as if it were reached with keys.
    #[prop_or_default]
    pub(super) on_click: Option<Callback<u32>>,
    /// Called when Enter is pressed on a row.
    #[prop_or_default]
    pub(super) on_enter: Callback<u32>,
    /// Called when a row is double-clicked.
    #[prop_or_default]
    pub(super) on_open: Callback<u32>,
    /// A header that stays above the rows and scrolls sideways with them.
    #[prop_or_default]
    pub(super) header: Html,
    /// Height of the header, CSS px.
    #[prop_or_default]
    pub(super) head_px: f64,
    /// Whether sideways arrow keys are not for the list, because it does not scroll sideways.
    #[prop_or_default]
    pub(super) is_narrow: bool,
    /// Whether it takes the focus when it appears.
    #[prop_or_default]
    pub(super) takes_focus: bool,
}

#[component]
pub(super) fn VirtualList(props: &VirtualListProps) -> Html {
    let node = use_node_ref();
    let top = use_state_eq(|| 0.0_f64);
    let height_px = use_height(&node).unwrap_or(0.0);
    let list = Scroll {
        rows: props.rows,
        row_px: props.row_px,
        view_px: (height_px - props.head_px).max(0.0),
    };
    let now = list.clamp(*top);

    let go = {
        let (top, node) = (top.clone(), node.clone());
        Callback::from(move |to: f64| {
            let to = list.clamp(to);
            if let Some(element) = node.cast::<Element>() {
                element.set_scroll_top(list.scroll_of(to).round() as i32);
            }
            top.set(to);
        })
    };
    use_wheel_steps(&node, list, now, go.clone());
    use_reveal(props.active, list, now, go.clone());
    let options = use_node_ref();
    use_focus(&options, props.takes_focus);

    let window = list.window(now, MORE_ROWS);
    {
        let on_window = props.on_window.clone();
        use_effect_with(window.clone(), move |window| on_window.emit(window.clone()));
    }
    let onscroll = {
        let node = node.clone();
        Callback::from(move |_: Event| {
            let Some(element) = node.cast::<Element>() else {
                return;
            };
            let scroll_px = f64::from(element.scroll_top());
            // Whole px of a stretched list's scrollbar are too coarse for where it is already.
            if (scroll_px - list.scroll_of(now)).abs() > 1.0 {
                top.set(list.top_of(scroll_px));
            }
        })
    };
    let offset_px = list.place_px(now, window.start);
    // A row that is out of view is not there to be referred to.
    let there = props.active.filter(|row| window.contains(row));
    let rows = window.map(|row| one_row(props, row));
    html! {
        <div class="vlist" ref={node} {onscroll} onkeydown={on_key(props, list)}>
            if props.head_px > 0.0 {
                <div class="vhead" style={format!("height:{}px", props.head_px)}>{ props.header.clone() }</div>
            }
            <div class="vspace" ref={options} tabindex="0" role="listbox" aria-label={props.label.clone()} data-scrolls={if props.is_narrow { "y" } else { "" }}
                aria-activedescendant={there.map(|row| row_id(props, row))} style={format!("height:{}px", list.content_px())}>
                <div class="vrows" style={format!("transform:translateY({offset_px}px)")}>{ for rows }</div>
            </div>
        </div>
    }
}

fn row_id(props: &VirtualListProps, row: u32) -> String {
    format!("{}-{row}", props.ids)
}

fn one_row(props: &VirtualListProps, row: u32) -> Html {
    let is_active = props.active == Some(row);
    let more = props
        .row_classes
        .as_ref()
        .map(|classes| classes.emit(row))
        .unwrap_or_default();
    let on_click = props.on_click.as_ref().unwrap_or(&props.on_active);
    let classes = classes!("vrow", is_active.then_some("active"), more);
    html! {
        <div key={row} id={row_id(props, row)} class={classes} role="option" aria-selected={is_active.to_string()}
            style={format!("height:{}px", props.row_px)}
            onclick={on_click.reform(move |_| row)} ondblclick={props.on_open.reform(move |_| row)}>
            { props.row.emit(row) }
        </div>
    }
}

/// Arrow, page and end keys move the active row; Enter opens it.
fn on_key(props: &VirtualListProps, list: Scroll) -> Callback<KeyboardEvent> {
    let (rows, active) = (props.rows, props.active);
    let (on_active, on_enter) = (props.on_active.clone(), props.on_enter.clone());
    Callback::from(move |event: KeyboardEvent| {
        if event.ctrl_key() || event.meta_key() || event.alt_key() || rows == 0 {
            return;
        }
        let last = rows - 1;
        let from = active.unwrap_or(0);
        let to = match event.key().as_str() {
            "ArrowDown" => active.map_or(0, |row| row.saturating_add(1)),
            "ArrowUp" => from.saturating_sub(1),
            "PageDown" => from.saturating_add(list.page()),
            "PageUp" => from.saturating_sub(list.page()),
            "Home" => 0,
            "End" => last,
            "Enter" => {
                if let Some(row) = active {
                    event.prevent_default();
                    on_enter.emit(row);
                }
                return;
            }
            _ => return,
        };
        event.prevent_default();
        on_active.emit(to.min(last));
    })
}

/// Makes the wheel scroll a list with a stretched scrollbar by the list's own px.
#[hook]
fn use_wheel_steps(node: &NodeRef, list: Scroll, top: f64, go: Callback<f64>) {
    let latest = use_mut_ref(|| (list, top, go.clone()));
    *latest.borrow_mut() = (list, top, go);
    let node = node.clone();
    use_effect_with(list.is_stretched(), move |&is_stretched| {
        // Yew's own listener is passive and cannot prevent scrolling.
        let options = EventListenerOptions::enable_prevent_default();
        let element = node.cast::<Element>().filter(|_| is_stretched);
        let listener = element.map(|element| {
            EventListener::new_with_options(&element, "wheel", options, move |event| {
                let Some(event) = event.dyn_ref::<WheelEvent>() else {
                    return;
                };
                let (list, top, go) = latest.borrow().clone();
                if event.ctrl_key() || event.shift_key() || event.delta_y() == 0.0 {
                    return;
                }
                event.prevent_default();
                let step_px = match event.delta_mode() {
                    WheelEvent::DOM_DELTA_LINE => WHEEL_LINE_PX,
                    WheelEvent::DOM_DELTA_PAGE => list.view_px,
                    _ => 1.0,
                };
                go.emit(top + event.delta_y() * step_px);
            })
        });
        move || drop(listener)
    });
}

/// Scrolls to the active row when it changes, or when the list is first laid out.
#[hook]
fn use_reveal(active: Option<u32>, list: Scroll, top: f64, go: Callback<f64>) {
    let is_laid_out = list.view_px > 0.0;
    use_effect_with(
        (active, list.rows, is_laid_out),
        move |&(active, _, is_laid_out)| {
            let Some(row) = active.filter(|&row| is_laid_out && row < list.rows) else {
                return;
            };
            let nearest = list.reveal(top, row);
            // A distant row is scrolled to the middle, so that its neighbours are visible too.
            let is_far = (nearest - top).abs() > list.view_px;
            let to = if is_far { list.centre(row) } else { nearest };
            if to != top {
                go.emit(to);
            }
        },
    );
}

#[hook]
fn use_focus(node: &NodeRef, takes_focus: bool) {
    let node = node.clone();
    use_effect_with((), move |()| {
        let listener = frame::when_keys_are_here(move || {
            if takes_focus && let Some(element) = node.cast::<HtmlElement>() {
                // Its rows begin below the head, which must stay in view.
                let options = FocusOptions::new();
                options.set_prevent_scroll(true);
                let _ = element.focus_with_options(&options);
            }
        });
        move || drop(listener)
    });
}

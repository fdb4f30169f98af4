//! An edge between two parts of the page, which the user drags or moves by arrow keys.

use web_sys::Element;
use yew::prelude::*;

#[derive(Properties, PartialEq)]
pub(super) struct DividerProps {
    /// What the edge sizes, for screen readers.
    pub(super) label: AttrValue,
    /// Whether the parts lie one above the other.
    #[prop_or_default]
    pub(super) is_level: bool,
    pub(super) value: f64,
    /// The least and the largest value.
    pub(super) range: (f64, f64),
    /// The change of the value for each CSS px that the edge moves right or down.
    pub(super) per_px: f64,
    /// The way that an arrow key moves the edge, CSS px.
    #[prop_or(16.0)]
    pub(super) step_px: f64,
    /// Called with each new value, within the range.
    pub(super) on_change: Callback<f64>,
}

/// The edge.
#[component]
pub(super) fn Divider(props: &DividerProps) -> Html {
    // While dragging: where the drag began, and the value then.
    let held = use_mut_ref(|| None::<(f64, f64)>);
    let DividerProps {
        is_level,
        value,
        range: (least, most),
        per_px,
        step_px,
        ..
    } = *props;
    let at = move |event: &PointerEvent| {
        f64::from(if is_level {
            event.client_y()
        } else {
            event.client_x()
        })
    };
    let change = props
        .on_change
        .reform(move |value: f64| value.clamp(least, most));
    let onpointerdown = {
        let held = held.clone();
        Callback::from(move |event: PointerEvent| {
            *held.borrow_mut() = Some((at(&event), value));
            if let Some(edge) = event.target_dyn_into::<Element>() {
                let _ = edge.set_pointer_capture(event.pointer_id());
            }
        })
    };
    let onpointermove = {
        let (held, change) = (held.clone(), change.clone());
        Callback::from(move |event: PointerEvent| {
            if let Some((from, before)) = *held.borrow() {
                change.emit(before + (at(&event) - from) * per_px);
            }
        })
    };
    let let_go = Callback::from(move |_: PointerEvent| *held.borrow_mut() = None);
    let onkeydown = Callback::from(move |event: KeyboardEvent| {
        let px = match event.key().as_str() {
            "ArrowUp" if is_level => -step_px,
            "ArrowDown" if is_level => step_px,
            "ArrowLeft" if !is_level => -step_px,
            "ArrowRight" if !is_level => step_px,
            _ => return,
        };
        event.prevent_default();
        change.emit(value + px * per_px);
    });
    let (class, orientation) = if is_level {
        ("level", "horizontal")
    } else {
        ("upright", "vertical")
    };
    html! {
        <div class={classes!("resizer", class)} role="separator" aria-orientation={orientation}
            aria-label={props.label.clone()} tabindex="0"
            aria-valuenow={value.to_string()} aria-valuemin={least.to_string()} aria-valuemax={most.to_string()}
            {onpointerdown} {onpointermove} onpointerup={let_go.clone()} onpointercancel={let_go} {onkeydown} />
    }
}

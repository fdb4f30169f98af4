//! What the colours mean, with what each has at the peak.

use yew::prelude::*;

use super::site_label::site_label;
use crate::protocol::{ColourBy, Legend, LegendEntry};
use crate::state::{Shared, sentences};
use vramscope_view::display;

/// Properties of [`LegendList`].
#[derive(Properties, PartialEq)]
pub(super) struct LegendListProps {
    pub(super) legend: Shared<Legend>,
}

/// The list, the most bytes first.
#[component]
pub(super) fn LegendList(props: &LegendListProps) -> Html {
    let title = match props.legend.look.colour_by {
        ColourBy::CallSite => "Live at the peak, by call site",
        ColourBy::Size => "Live at the peak, by size",
        ColourBy::Stream => "Live at the peak, by stream",
        ColourBy::Pool => "Live at the peak, by pool",
        ColourBy::Category => "Live at the peak, by category",
        ColourBy::Age => "Live at the peak, by age",
    };
    html! {
        <section class="legend">
            <h3>{ title }</h3>
            <ul>{ for props.legend.entries.iter().map(entry) }</ul>
        </section>
    }
}

fn entry(entry: &LegendEntry) -> Html {
    let [r, g, b] = entry.rgb;
    let count = sentences::count_of(
        u64::from(entry.allocations),
        "allocation at the peak",
        "allocations at the peak",
    );
    html! {
        <li title={format!("{} · {count}", entry.label)}>
            <span class="swatch" style={format!("background:rgb({r},{g},{b})")} aria-hidden="true" />
            <span class="grow label">{ site_label(&entry.label) }</span>
            <span class="number">{ display::bytes(entry.bytes) }</span>
        </li>
    }
}

//! What the colours mean, with what each has at the peak.

use yew::prelude::*;

use super::commands::{Commands, use_commands};
use super::site_label::site_label;
use crate::protocol::{ColourBy, Legend, LegendEntry};
use crate::state::{Action, Shared, legend, sentences};
use vramscope_view::display;

/// Properties of [`LegendList`].
#[derive(Properties, PartialEq)]
pub(super) struct LegendListProps {
    pub(super) legend: Shared<Legend>,
    /// What is searched for: the row that it is of is marked.
    pub(super) search: AttrValue,
}

/// The list, the most bytes first.
#[component]
pub(super) fn LegendList(props: &LegendListProps) -> Html {
    let commands = use_commands();
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
            <ul>{ for props.legend.entries.iter().map(|row| entry(row, props, &commands)) }</ul>
        </section>
    }
}

fn entry(entry: &LegendEntry, props: &LegendListProps, commands: &Commands) -> Html {
    let [r, g, b] = entry.rgb;
    let count = sentences::count_of(
        u64::from(entry.allocations),
        "allocation at the peak",
        "allocations at the peak",
    );
    let title = format!("{} · {count}", entry.label);
    let content = html! {
        <>
            <span class="swatch" style={format!("background:rgb({r},{g},{b})")} aria-hidden="true" />
            <span class="grow label">{ site_label(&entry.label) }</span>
            <span class="number">{ display::bytes(entry.bytes) }</span>
        </>
    };
    let Some(search) = legend::search(props.legend.look.colour_by, &entry.label) else {
        return html! { <li {title}>{ content }</li> };
    };
    let is_searched = props.search.as_str() == search;
    let title = format!("{title}\nClick lights them up, a second click lets go");
    let onclick = commands.on(Action::Search(if is_searched {
        String::new()
    } else {
        search
    }));
    html! {
        <li>
            <button type="button" {title} aria-pressed={is_searched.to_string()} {onclick}>{ content }</button>
        </li>
    }
}

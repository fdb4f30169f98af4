//! The legend: what colours stand for, with the bytes of each among what is selected.

use vramscope_protocol::LegendEntry;
use yew::prelude::*;

use super::commands::{Commands, use_commands};
use super::site_label::site_label;
use crate::state::{Action, Shared, sentences};
use vramscope_view::display;

#[derive(Properties, PartialEq)]
pub(super) struct LegendListProps {
    pub(super) title: AttrValue,
    /// Whether it is about pieces of segments.
    pub(super) is_of_segments: bool,
    pub(super) legend: Shared<Vec<LegendEntry>>,
    /// The search text: the row with the same term is marked.
    pub(super) search: AttrValue,
}

/// The legend's rows, sorted by bytes.
#[component]
pub(super) fn LegendList(props: &LegendListProps) -> Html {
    let commands = use_commands();
    html! {
        <section class="legend">
            <h3>{ props.title.clone() }</h3>
            if props.legend.is_empty() { <p class="muted">{ "Nothing." }</p> }
            <ul>{ for props.legend.iter().map(|row| entry(row, props, &commands)) }</ul>
        </section>
    }
}

fn entry(entry: &LegendEntry, props: &LegendListProps, commands: &Commands) -> Html {
    let [r, g, b] = entry.rgb;
    let (one, several) = if props.is_of_segments {
        ("piece of a segment", "pieces of segments")
    } else {
        ("allocation", "allocations")
    };
    let count = match entry.allocations {
        0 => "elsewhere in the picture only".to_owned(),
        count => sentences::count_of(u64::from(count), one, several),
    };
    let title = format!("{} · {count}", entry.label);
    let content = html! {
        <>
            <span class="swatch" style={format!("background:rgb({r},{g},{b})")} aria-hidden="true" />
            <span class="grow label">{ site_label(&entry.label) }</span>
            <span class="number">{ if entry.allocations == 0 { "–".to_owned() } else { display::bytes(entry.bytes) } }</span>
        </>
    };
    let Some(search) = entry.search.clone() else {
        return html! { <li {title}>{ content }</li> };
    };
    let is_searched = props.search.as_str() == search;
    let title = format!("{title}\nClick to highlight them, click again to stop");
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

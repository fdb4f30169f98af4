//! Rows of bytes: call sites, pools and streams.

use vramscope_view::display;
use yew::prelude::*;

use super::words;
use crate::components::commands::Commands;
use crate::components::site_label::site_label;
use crate::protocol::views::overview::Row;
use crate::state::{Action, sentences};

/// A list of rows; a call site can be clicked to search for it. `counted`: what the rows count.
pub(in crate::components) fn row_table(commands: &Commands, rows: &[Row], counted: &str) -> Html {
    let row = |row: &Row| {
        let count = format!("{} {counted}", display::count(row.count));
        let title = format!(
            "{} · {}, {count}",
            row.label,
            sentences::exact_bytes(row.bytes)
        );
        html! {
            <li {title}>
                <span class="fill" style={format!("width:{:.3}%", row.share * 100.0)} />
                { swatch(row.rgb) }
                <span class="grow label">{ label(commands, row) }</span>
                if !row.remark.is_empty() { <span class="muted remark">{ &row.remark }</span> }
                <span class="number muted">{ display::count(row.count) }{ " ×" }</span>
                if let Some(percent) = row.percent { <span class="number muted percent">{ words::percent(percent) }</span> }
                <span class="number bytes">{ display::bytes(row.bytes) }</span>
            </li>
        }
    };
    html! { <ul class="rows">{ for rows.iter().map(row) }</ul> }
}

fn swatch(rgb: Option<[u8; 3]>) -> Html {
    let style = rgb.map(|[r, g, b]| format!("background:rgb({r},{g},{b})"));
    html! { <span class="swatch" {style} aria-hidden="true" /> }
}

fn label(commands: &Commands, row: &Row) -> Html {
    if row.rgb.is_none() {
        return html! { { &row.label } };
    }
    if !row.is_site {
        return site_label(&row.label);
    }
    let search = commands.on(Action::Search(words::site_search(&row.label)));
    html! {
        <button type="button" class="bare" title={format!("Search for {}", row.label)} onclick={search}>{ site_label(&row.label) }</button>
    }
}

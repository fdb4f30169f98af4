//! Lists of all failures, of what log lines tell, and of devices.

use vramscope_protocol::views::text::{Card, DeviceRow, Told, UsageRow};
use vramscope_view::display;
use yew::prelude::*;

use crate::state::sentences;

/// All failures. A click on one shows its card.
pub(super) fn failure_table(told: &Told, shown: usize, choose: &Callback<usize>) -> Html {
    let row = |(place, card): (usize, &Card)| {
        let choose = choose.clone();
        let onclick = Callback::from(move |_: MouseEvent| choose.emit(place));
        let is_shown = place == shown;
        let name = match card.from.as_str() {
            "" => format!("line {}", display::count(card.line)),
            from => from.to_owned(),
        };
        html! {
            <tr class={classes!(is_shown.then_some("current"))}>
                <th scope="row"><button type="button" class="plain" aria-pressed={is_shown.to_string()} title="Show why" {onclick}>{ name }</button></th>
                <td>{ display::count(card.line) }</td>
                <td>{ display::count(card.times) }</td>
                <td>{ size(card.requested_bytes) }</td>
                <td>{ size(card.free_bytes) }</td>
                <td class="words">{ &card.why }{ if place == told.first { " · first to fail" } else { "" } }</td>
            </tr>
        }
    };
    let rows = told.cards.iter().enumerate().map(row);
    table(
        "All failures",
        &[
            "from",
            "line",
            "times",
            "requested",
            "free on device",
            "why",
        ],
        rows.collect(),
    )
}

/// What log lines tell.
pub(super) fn usage_table(usage: &[UsageRow]) -> Html {
    let row = |row: &UsageRow| {
        html! {
            <tr>
                <th scope="row">{ &row.tool }{ " " }{ &row.from }</th>
                <td class="words">{ row.what.clone() }</td>
                <td>{ display::count(row.line) }</td>
                <td>{ display::count(row.count) }</td>
                { for row.bytes.iter().map(|&bytes| html! { <td>{ size(Some(bytes)) }</td> }) }
            </tr>
        }
    };
    table(
        "Told by log lines",
        &[
            "from",
            "what",
            "first line",
            "lines",
            "first",
            "last",
            "highest",
        ],
        usage.iter().map(row).collect(),
    )
}

/// Devices in tables of nvidia-smi and npu-smi.
pub(super) fn device_table(devices: &[DeviceRow]) -> Html {
    let process = |(name, held): &(String, u64)| format!("{name} {}", display::bytes(*held));
    let row = |row: &DeviceRow| {
        let processes: Vec<_> = row.processes.iter().map(process).collect();
        html! {
            <tr>
                <th scope="row">{ format!("device {}", row.device) }</th>
                <td>{ display::count(row.line) }</td>
                <td class="meter"><i style={format!("width:{:.2}%", row.share * 100.0)} /></td>
                { for row.bytes.iter().map(|&bytes| html! { <td>{ size(Some(bytes)) }</td> }) }
                <td class="words">{ processes.join("; ") }</td>
            </tr>
        }
    };
    table(
        "Devices in tables",
        &["device", "line", "", "used", "of", "processes"],
        devices.iter().map(row).collect(),
    )
}

fn table(title: &'static str, columns: &[&'static str], rows: Vec<Html>) -> Html {
    if rows.is_empty() {
        return Html::default();
    }
    html! {
        <section>
            <h2>{ title }</h2>
            <div class="wide" data-scrolls="" tabindex="0" role="region" aria-label={title}>
                <table>
                    <thead><tr>{ for columns.iter().map(head) }</tr></thead>
                    <tbody>{ for rows }</tbody>
                </table>
            </div>
        </section>
    }
}

/// The head of a column. Those of words begin where their words do.
fn head(&name: &&'static str) -> Html {
    let is_words = matches!(name, "why" | "what" | "processes");
    html! { <th scope="col" class={classes!(is_words.then_some("words"))}>{ name }</th> }
}

/// A size, with its bytes on hover.
fn size(bytes: Option<u64>) -> Html {
    bytes.map_or_else(
        Html::default,
        |bytes| html! { <span title={sentences::exact_bytes(bytes)}>{ display::bytes(bytes) }</span> },
    )
}

//! Rows of bytes: call sites, pools and streams.

use vramscope_core::analysis::code::call_sites::CallSiteId;
use vramscope_core::analysis::report::findings::{FindingRow, FindingTable};
use vramscope_view::display;
use yew::prelude::*;

use super::words;
use crate::components::commands::Commands;
use crate::components::site_label::{SiteColours, site_label};
use crate::state::{Action, ViewKind, sentences};

/// A table of rows. A click on a call site shows it in the flame graph. `whole` is the number of bytes that
/// counts as 100 %, `moment` when they were live; `None` if the rows are of no single moment. `colours` is `None` beside
/// a legend of other colours, which would be taken for the same.
pub(in crate::components) fn row_table(
    commands: &Commands,
    table: &FindingTable,
    whole: Option<u64>,
    colours: Option<&SiteColours>,
    moment: Option<u32>,
) -> Html {
    // The remainder of a whole may exceed every row, so it does not set the bars' scale.
    let measured = |row: &&FindingRow| whole.is_none() || row.site.is_some();
    let largest = table
        .rows
        .iter()
        .filter(measured)
        .map(|row| row.bytes)
        .max();
    let largest = largest.unwrap_or(0);
    let row = |row: &FindingRow| {
        let count = format!("{} {}", display::count(row.count), table.counted);
        let percent = whole.map(|whole| display::percent(row.bytes, whole));
        let title = format!(
            "{} · {}, {count}",
            row.label,
            sentences::exact_bytes(row.bytes)
        );
        html! {
            <li {title}>
                <span class="fill" style={format!("width:{:.3}%", words::share(row.bytes, largest) * 100.0)} />
                if let Some(colours) = colours { { swatch(row, colours) } }
                <span class="grow label">{ label(commands, row, moment) }</span>
                if !row.remark.is_empty() { <span class="muted remark">{ &row.remark }</span> }
                <span class="number muted">{ display::count(row.count) }{ " ×" }</span>
                if let Some(percent) = percent { <span class="number muted percent">{ percent }</span> }
                <span class="number bytes">{ display::bytes(row.bytes) }</span>
            </li>
        }
    };
    html! { <ul class="rows">{ for table.rows.iter().map(row) }</ul> }
}

/// The colour of a call site, as in all views.
fn swatch(row: &FindingRow, colours: &SiteColours) -> Html {
    let style = row.site.map(|site| {
        let known = Some(row.label.as_str()).filter(|_| site != CallSiteId::NONE);
        colours.swatch(known)
    });
    html! { <span class="swatch" {style} aria-hidden="true" /> }
}

fn label(commands: &Commands, row: &FindingRow, moment: Option<u32>) -> Html {
    if row.site.is_none() {
        return html! { { &row.label } };
    }
    let Some(filter) = row.filter() else {
        return site_label(&row.label);
    };
    let (dispatch, search) = (commands.dispatch.clone(), filter.to_string());
    let onclick = Callback::from(move |_: MouseEvent| {
        dispatch.emit(Action::Search(search.clone()));
        dispatch.emit(Action::View(ViewKind::Flame));
        if let Some(moment) = moment {
            // A range goes before the cursor.
            dispatch.emit(Action::Select(None));
            dispatch.emit(Action::Moment(moment));
        }
    });
    html! {
        <button type="button" class="bare" title={format!("Its call paths in the flame graph: {}", row.label)} {onclick}>{ site_label(&row.label) }</button>
    }
}

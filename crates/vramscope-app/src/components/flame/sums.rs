//! Totals of trees as text.

use vramscope_protocol::ColourBy;
use vramscope_protocol::views::flame::{About, Answer, Weight};
use yew::prelude::*;

use crate::components::site_label::site_label;
use crate::state::sentences;
use vramscope_core::analysis::code::call_tree::Sums;
use vramscope_view::display;
use vramscope_view::flame::{BoxPart, FlameCell, weight_text};

/// The total of the selection, and how much of it the search matches.
pub(super) fn whole(about: &About, answer: &Answer) -> Html {
    let sums = answer.whole;
    html! {
        <>
            <span class="flame-whole" title={display::bytes_exact(sums.bytes)}>
                <strong>{ weight_text(about.weight, sums.weight) }</strong>
                if about.weight != Weight::Count {
                    { format!(" in {}", sentences::count_of(sums.count, "allocation", "allocations")) }
                } else {
                    { format!(", {}", display::bytes(sums.bytes)) }
                }
            </span>
            if about.filter.is_some() {
                <span class="flame-matches">{ matches(about.weight, &sums) }</span>
            }
            if answer.cut > 0 {
                <span class="muted">{ format!("{} cut short: too deep", sentences::count_of(answer.cut, "stack", "stacks")) }</span>
            }
        </>
    }
}

/// What the colours of boxes stand for.
pub(super) fn colours(by: ColourBy) -> Html {
    let (words, title) = match by {
        ColourBy::CallSite => (
            "coloured by code".to_owned(),
            "Each line of code has a colour of its own, that of its call site in all views. Libraries' code is paler; grey is no code",
        ),
        by => (
            format!("coloured by {}", by.name()),
            "A box has the colour of its largest part; a bar at its lower edge and its tooltip tell the parts. The legend is beside",
        ),
    };
    html! { <span class="flame-colours muted" {title}>{ words }</span> }
}

/// `matches: 3.10 GiB, 12.3 %`.
fn matches(weight: Weight, sums: &Sums) -> String {
    format!(
        "matches: {}, {}",
        weight_text(weight, sums.matched),
        display::percent(sums.matched, sums.weight)
    )
}

/// The tooltip of a box.
pub(super) fn of_cell(about: &About, answer: &Answer, cell: &FlameCell) -> Html {
    let (sums, weight) = (&cell.sums, about.weight);
    let count = sentences::count_of(sums.count, "allocation", "allocations");
    html! {
        <>
            <p>
                <strong>{ weight_text(weight, sums.weight) }</strong>
                { format!(" · {} of all", display::percent(sums.weight, answer.whole.weight)) }
            </p>
            <p class="muted">
                if weight == Weight::Count { { display::bytes_exact(sums.bytes) } }
                else { { format!("{count} · {} bytes", display::count(sums.bytes)) } }
            </p>
            if cell.smaller > 0 {
                <p>{ format!("{} too narrow to draw", sentences::count_of(u64::from(cell.smaller), "call", "calls")) }</p>
            } else {
                <p>{ site_label(&cell.label) }</p>
                if !cell.parts.is_empty() { <p class="muted">{ parts(cell) }</p> }
                if cell.joined > 1 { <p class="muted">{ format!("{} frames in one box; a click shows them", cell.joined) }</p> }
                if cell.own.count > 0 && cell.own != *sums {
                    <p class="muted">{ format!("{} of it right here", weight_text(weight, cell.own.weight)) }</p>
                }
            }
            if about.filter.is_some() { <p>{ matches(weight, sums) }</p> }
        </>
    }
}

/// `all activation`, or `activation 82 %, temporary 18 %`.
fn parts(cell: &FlameCell) -> String {
    let whole = cell.sums.weight;
    match &cell.parts[..] {
        [part] if part.weight == whole => format!("all {}", part.label),
        parts => {
            let part =
                |part: &BoxPart| format!("{} {}", part.label, display::percent(part.weight, whole));
            parts.iter().map(part).collect::<Vec<_>>().join(", ")
        }
    }
}

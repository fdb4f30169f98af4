//! The composition of reserved memory: bars on a common scale, and their parts in numbers.

use vramscope_core::analysis::memory::gap::{Gap, GapPart};
use vramscope_core::analysis::report::overview::{Bar, SegmentsKnown};
use vramscope_view::display;
use yew::prelude::*;

use super::words;
use crate::components::commands::{Commands, use_commands};
use crate::state::{Action, ViewKind, sentences};

#[derive(Properties, PartialEq)]
pub(super) struct GapSectionProps {
    pub(super) bars: Vec<Bar>,
    /// Start of the recording, µs since the Unix epoch.
    pub(super) start_us: Option<i64>,
    pub(super) segments: SegmentsKnown,
    /// Whether the file has more than the final state.
    pub(super) has_trace: bool,
}

/// The section with bars and table.
#[component]
pub(super) fn GapSection(props: &GapSectionProps) -> Html {
    let commands = use_commands();
    let remark = props.segments.remark();
    html! {
        <section class="gap">
            <h2>{ "Where reserved memory is" }</h2>
            if let Some(remark) = remark { <p class="muted">{ remark }</p> }
            if !props.bars.is_empty() {
                { for props.bars.iter().map(|of| bar(&commands, props, of)) }
                { table(props) }
            }
        </section>
    }
}

fn bar(commands: &Commands, props: &GapSectionProps, bar: &Bar) -> Html {
    let (at, gap) = (&bar.at, &bar.at.gap);
    let longest = props.bars.iter().map(|bar| bar.at.gap.reserved_bytes).max();
    let longest = longest.unwrap_or(0);
    let dispatch = commands.dispatch.clone();
    let of = gap.moment;
    let go = Callback::from(move |_: MouseEvent| {
        dispatch.emit(Action::View(ViewKind::Allocator));
        dispatch.emit(Action::Moment(of));
    });
    let part = |(kind, bytes): (GapPart, u64)| {
        let (name, meaning) = words::part(kind);
        let title = format!("{name}: {}\n{meaning}", sentences::exact_bytes(bytes));
        html! {
            <span class={classes!("part", words::part_class(kind))} {title}
                style={format!("width:{:.4}%", words::share(bytes, longest) * 100.0)} />
        }
    };
    let parts = gap.parts().into_iter().filter(|(_, bytes)| *bytes > 0);
    html! {
        <div class="bar" data-moment={gap.moment.to_string()}>
            <button type="button" class="plain" title="Show all segments and blocks then" onclick={go}>{ occasions(props, bar) }</button>
            <span class="muted">if props.has_trace { { words::place(gap.moment, words::since(props.start_us, at.time_us)) } }</span>
            <span class="number" title={sentences::exact_bytes(gap.reserved_bytes)}>{ display::bytes(gap.reserved_bytes) }</span>
            <div class="parts" role="img" aria-label={description(props, bar)}>{ for parts.map(part) }</div>
        </div>
    }
}

/// What is special about a bar's moment.
fn occasions(props: &GapSectionProps, bar: &Bar) -> String {
    if props.has_trace {
        words::occasions(bar)
    } else {
        "At the dump".to_owned()
    }
}

fn description(props: &GapSectionProps, bar: &Bar) -> String {
    let parts = bar.at.gap.parts().into_iter();
    let parts = parts
        .filter(|(_, bytes)| *bytes > 0)
        .map(|(kind, bytes)| format!("{} {}", display::bytes(bytes), words::part(kind).0));
    format!(
        "{}: {}",
        occasions(props, bar),
        parts.collect::<Vec<_>>().join(", ")
    )
}

/// A table with parts as rows and moments as columns.
fn table(props: &GapSectionProps) -> Html {
    let bars = &props.bars;
    let Some(first) = bars.first() else {
        return Html::default();
    };
    let first = &first.at.gap;
    let row = |(place, (kind, _)): (usize, (GapPart, u64))| {
        let of = |bar: &Bar| bar.at.gap.parts()[place].1;
        let is_anywhere = bars.iter().any(|bar| of(bar) > 0);
        let (name, meaning) = words::part(kind);
        html! {
            if is_anywhere {
                <tr>
                    <th scope="row" title={meaning}><i class={classes!("part", words::part_class(kind))} />{ name }</th>
                    { for bars.iter().map(|bar| cell(of(bar))) }
                </tr>
            }
        }
    };
    let has_outside = bars.iter().any(|bar| bar.at.gap.outside_bytes > 0);
    html! {
        <div class="wide" tabindex="0"><table>
            <thead><tr>
                <td />
                { for bars.iter().map(|bar| html! { <th scope="col">{ occasions(props, bar) }</th> }) }
            </tr></thead>
            <tbody>
                { for first.parts().into_iter().enumerate().map(row) }
                <tr class="sum">
                    <th scope="row">{ "reserved" }</th>
                    { for bars.iter().map(|bar| cell(bar.at.gap.reserved_bytes)) }
                </tr>
                { largest(bars) }
                if has_outside {
                    <tr>
                        <th scope="row" title="No part of what is reserved: the recording has no segment events for it, or is damaged">
                            { "live outside of segments" }
                        </th>
                        { for bars.iter().map(|bar| cell(bar.at.gap.outside_bytes)) }
                    </tr>
                }
            </tbody>
        </table></div>
    }
}

fn cell(bytes: u64) -> Html {
    html! {
        <td class={classes!((bytes == 0).then_some("zero"))} title={sentences::exact_bytes(bytes)}>
            { if bytes == 0 { "–".to_owned() } else { display::bytes(bytes) } }
        </td>
    }
}

/// The rows of the largest free blocks.
fn largest(bars: &[Bar]) -> Html {
    let is_larger = |gap: &Gap| gap.largest_free_anywhere_bytes > gap.largest_free_bytes;
    html! {
        <>
            <tr>
                <th scope="row" title="Free where most is live: a larger request there needs new memory from the device">{ "largest usable block" }</th>
                { for bars.iter().map(|bar| cell(bar.at.gap.largest_free_bytes)) }
            </tr>
            if bars.iter().any(|bar| is_larger(&bar.at.gap)) {
                <tr>
                    <th scope="row" title="Of all pools and streams">{ "largest free block" }</th>
                    { for bars.iter().map(|bar| cell(bar.at.gap.largest_free_anywhere_bytes)) }
                </tr>
            }
        </>
    }
}

//! The most important figures.

use vramscope_core::analysis::memory::capture::AllocatorKind;
use vramscope_core::analysis::memory::gap::Gap;
use vramscope_core::analysis::report::overview::{Occasion, Overview, SegmentsKnown};
use vramscope_view::display;
use yew::prelude::*;

use super::words;
use crate::components::commands::{Commands, use_commands};
use crate::state::{Action, ViewKind, sentences};

#[derive(Properties, PartialEq)]
pub(super) struct TilesProps {
    pub(super) found: Overview,
    /// Whether the figures are of one memory pool, which no request alone fails for.
    pub(super) within_pool: bool,
}

/// A figure with its name.
struct Tile {
    name: &'static str,
    value: String,
    exact: String,
    remark: Html,
}

/// The row of figures.
#[component]
pub(super) fn Tiles(props: &TilesProps) -> Html {
    let commands = use_commands();
    let found = &props.found;
    let bars = found.bars();
    let at = |occasion| {
        let bar = bars.iter().find(|bar| bar.occasions.contains(&occasion));
        bar.map(|bar| &bar.at)
    };
    let mut tiles = vec![peak(&commands, found)];
    // Segments that lack what is live have no figures of what is idle in them.
    if let Some(at) = at(Occasion::Peak).filter(|_| found.segments != SegmentsKnown::Doubtful) {
        tiles.push(gap(found, &at.gap));
        tiles.push(largest(found, &at.gap));
    }
    if found.has_trace {
        tiles.push(cuda(found));
        tiles.extend((!props.within_pool).then(|| trouble(found)));
    }
    html! { <dl class="tiles">{ for tiles.into_iter().map(tile) }</dl> }
}

fn tile(tile: Tile) -> Html {
    html! {
        <div title={tile.exact}>
            <dt>{ tile.name }</dt>
            <dd>
                <span class="size">{ tile.value }</span>
                <span class="muted">{ tile.remark }</span>
            </dd>
        </div>
    }
}

/// The moment of a figure, as a link; there is none but the dump without a trace.
fn when(commands: &Commands, found: &Overview, at: u32, time_us: Option<i64>) -> Html {
    if found.has_trace {
        moment(commands, at, words::since(found.start_us, time_us))
    } else {
        html! { "at the dump" }
    }
}

/// A link to a moment.
pub(super) fn moment(commands: &Commands, moment: u32, since_start_us: Option<i64>) -> Html {
    let dispatch = commands.dispatch.clone();
    let go = Callback::from(move |_: MouseEvent| {
        dispatch.emit(Action::View(ViewKind::Timeline));
        dispatch.emit(Action::Moment(moment));
    });
    html! {
        <button type="button" class="plain" onclick={go}
            title={format!("{}: show it in the timeline", words::place(moment, since_start_us))}>
            { words::place(moment, None) }
        </button>
    }
}

fn peak(commands: &Commands, found: &Overview) -> Tile {
    let peak = &found.peak;
    let allocations = sentences::count_of(peak.allocations, "allocation", "allocations");
    let from = match found.peak_site_count {
        0 => String::new(),
        sites => format!(
            " from {}",
            sentences::count_of(sites, "call site", "call sites")
        ),
    };
    Tile {
        name: if found.has_trace { "Peak live" } else { "Live" },
        value: display::bytes(peak.active_bytes),
        exact: format!(
            "{}: what live allocations requested, without rounding",
            sentences::exact_bytes(peak.active_bytes)
        ),
        remark: html! { <>{ when(commands, found, peak.moment, peak.time_us) }<br />{ allocations }{ from }</> },
    }
}

fn gap(found: &Overview, gap: &Gap) -> Tile {
    Tile {
        name: if found.has_trace {
            "Idle at the peak"
        } else {
            "Idle"
        },
        value: display::bytes(gap.gap_bytes()),
        exact: format!(
            "{}: reserved minus what live allocations requested, so rounding and free memory together",
            sentences::exact_bytes(gap.gap_bytes())
        ),
        remark: html! {
            format!("rounding and free, {} of {}", display::percent(gap.gap_bytes(), gap.reserved_bytes), display::bytes(gap.reserved_bytes))
        },
    }
}

fn largest(found: &Overview, gap: &Gap) -> Tile {
    Tile {
        name: match found.allocator {
            AllocatorKind::Torch => "Fits without cudaMalloc",
            AllocatorKind::Driver => "Fits without mapping",
        },
        value: display::bytes(gap.largest_free_bytes),
        exact: format!(
            "{}, in the {}",
            sentences::exact_bytes(gap.largest_free_bytes),
            found.own_place
        ),
        remark: html! { "the largest usable block" },
    }
}

fn cuda(found: &Overview) -> Tile {
    let calls = &found.releases;
    let (asked, given) = (calls.mallocs + calls.maps, calls.frees + calls.unmaps);
    let maps = if calls.maps + calls.unmaps > 0 {
        format!(
            "{} of them map, {} unmap",
            display::count(calls.maps),
            display::count(calls.unmaps)
        )
    } else {
        "while recording".to_owned()
    };
    Tile {
        name: match found.allocator {
            AllocatorKind::Torch => "cudaMalloc / Free",
            AllocatorKind::Driver => "Mapped / given back",
        },
        value: format!("{} / {}", display::count(asked), display::count(given)),
        exact: format!(
            "{} asked for, {} given back",
            display::bytes(calls.malloc_bytes.saturating_add(calls.map_bytes)),
            display::bytes(calls.free_bytes.saturating_add(calls.unmap_bytes))
        ),
        remark: html! { maps },
    }
}

fn trouble(found: &Overview) -> Tile {
    let retries = found.releases.for_request.runs;
    Tile {
        name: "Failed requests",
        value: sentences::known_count(found.ooms),
        exact: String::new(),
        remark: html! { match retries {
            _ if found.allocator == AllocatorKind::Driver => "by the driver".to_owned(),
            0 => "no retry seen".to_owned(),
            retries => sentences::count_of(retries, "retry with the cache emptied", "retries with the cache emptied"),
        } },
    }
}

//! The cells of the table's rows, and its headings.

use yew::prelude::*;

use vramscope_core::analysis::report::allocations::{AllocationRow, Column};
use vramscope_core::model::PoolId;
use vramscope_view::colour::{site_colour, stable_hash};
use vramscope_view::display;
use vramscope_view::theme::Theme;

use super::super::site_label::site_label;
use crate::protocol::Axis;
use crate::state::choices::TableChoices;

/// Which columns are shown, and how.
#[derive(Clone)]
pub(super) struct Cells {
    pub(super) columns: Vec<Column>,
    pub(super) theme: Theme,
    pub(super) axis: Axis,
}

/// A column's heading, its explanation, its width in px, and whether it holds numbers. The call
/// site has the remaining width.
fn head(column: Column) -> (&'static str, &'static str, u32, bool) {
    match column {
        Column::Order => ("#", "Number in order of birth", 72, true),
        Column::Size => ("Size", "Bytes the program asked for", 84, true),
        Column::Block => (
            "Block",
            "Bytes of its block at the end, where it has one",
            84,
            true,
        ),
        Column::Rounding => (
            "Rounding",
            "Bytes of its block beyond the requested ones",
            84,
            true,
        ),
        Column::Site => ("Call site", "The innermost frame of user code", 280, false),
        Column::Operator => (
            "Operator",
            "The operator or autograd node that made it",
            200,
            false,
        ),
        Column::Born => ("Allocated", "By which event, or when", 112, true),
        Column::Died => (
            "Freed",
            "The event, or time, at which its memory became free",
            112,
            true,
        ),
        Column::Lifetime => ("Lifetime", "As far as recorded", 104, true),
        Column::Stream => (
            "Stream",
            "Streams in order of first appearance; 0 is the default one",
            56,
            true,
        ),
        Column::Pool => ("Pool", "Memory pool", 128, false),
        Column::Category => ("Category", "As the profiler tells it", 120, false),
        Column::Role => (
            "Role",
            "What it is for, inferred from stacks, lifetimes and sizes",
            112,
            false,
        ),
        Column::Metadata => ("Metadata", "The text the program had set", 160, false),
        Column::Address => (
            "Address",
            "Start address, and how often it was used before",
            156,
            false,
        ),
    }
}

/// The headings. A click sorts.
pub(super) fn heads(cells: &Cells, choices: &TableChoices, on_sort: Callback<Column>) -> Html {
    let one = |&column: &Column| {
        let (name, help, _, is_number) = head(column);
        let sort = (column == choices.column).then_some(if choices.is_descending {
            "descending"
        } else {
            "ascending"
        });
        let arrow = match sort {
            Some("descending") => " ▾",
            Some(_) => " ▴",
            None => "",
        };
        html! {
            <button type="button" tabindex="-1" title={help} class={is_number.then_some("number")} aria-sort={sort}
                data-column={name} onclick={on_sort.reform(move |_| column)}>{ name }{ arrow }</button>
        }
    };
    html! {
        <div class="allocation-row" style="grid-template-columns:var(--columns)">{ for cells.columns.iter().map(one) }</div>
    }
}

impl Cells {
    /// The columns of the CSS grid, and their least total width in px.
    pub(super) fn layout(&self) -> (String, u32) {
        let gap_px = 12;
        let widths: Vec<u32> = self.columns.iter().map(|&column| head(column).2).collect();
        let template = self
            .columns
            .iter()
            .zip(&widths)
            .map(|(&column, width)| match column {
                Column::Site => format!("minmax({width}px,1fr)"),
                _ => format!("{width}px"),
            });
        let template: Vec<String> = template.collect();
        let gaps = gap_px * widths.len().saturating_sub(1) as u32;
        (template.join(" "), widths.iter().sum::<u32>() + gaps + 24)
    }

    pub(super) fn row(&self, row: &AllocationRow) -> Html {
        html! {
            <div class="allocation-row" style="grid-template-columns:var(--columns)">
                { for self.columns.iter().map(|&column| self.cell(row, column)) }
            </div>
        }
    }

    fn cell(&self, row: &AllocationRow, column: Column) -> Html {
        let number = |text: String, title: String| {
            html! { <span class="number" title={title}>{ text }</span> }
        };
        let bytes = |bytes: Option<u64>| match bytes {
            Some(bytes) => number(display::bytes(bytes), display::bytes_exact(bytes)),
            None => {
                html! { <span class="number muted" title="Not recorded: it was freed before the end" /> }
            }
        };
        let text = |text: Option<&str>| {
            let text = text.unwrap_or_default().to_owned();
            html! { <span title={text.clone()}>{ text }</span> }
        };
        match column {
            Column::Order => {
                let order = display::count(u64::from(row.allocation.0) + 1);
                html! { <span class="number muted">{ order }</span> }
            }
            Column::Size => bytes(Some(row.requested_bytes)),
            Column::Block => bytes(row.block_bytes),
            Column::Rounding => bytes(
                row.block_bytes
                    .map(|block| block.saturating_sub(row.requested_bytes)),
            ),
            Column::Site => self.site(row),
            Column::Operator => text(Some(&row.operator)),
            Column::Born if row.born == 0 => {
                html! { <span class="number muted" title="Before the recording began">{ "before" }</span> }
            }
            Column::Born => self.moment(row.born, row.born_us),
            Column::Died => match row.died {
                Some(died) => self.moment(died, row.died_us),
                None => {
                    html! { <span class="number muted" title="Still live at the end">{ "still live" }</span> }
                }
            },
            Column::Lifetime => lifetime(row),
            Column::Stream => number(
                row.stream
                    .map_or_else(String::new, |stream| stream.to_string()),
                String::new(),
            ),
            Column::Pool => text(row.pool.map(pool).as_deref()),
            Column::Category => text(row.category.as_deref()),
            Column::Role => text(Some(row.role.label())),
            Column::Metadata => text(row.metadata.as_deref()),
            Column::Address => {
                let name = display::allocation_id(row.address, row.version);
                html! { <span class="mono" title={name}>{ display::address(row.address) }</span> }
            }
        }
    }

    fn site(&self, row: &AllocationRow) -> Html {
        let hash = (row.site != NO_SITE).then(|| stable_hash(&row.site));
        let [r, g, b] = site_colour(&self.theme, hash);
        html! {
            <span class="site" title={row.site.clone()}>
                <span class="swatch" style={format!("background:rgb({r},{g},{b})")} aria-hidden="true" />
                { site_label(&row.site) }
            </span>
        }
    }

    /// An event by number, or by time if the axis is time; the other is the tooltip.
    fn moment(&self, moment: u32, since_start_us: Option<i64>) -> Html {
        let event = display::count(u64::from(moment));
        let time = since_start_us.map(display::offset);
        let (shown, other) = match (self.axis, time) {
            (Axis::Time, Some(time)) => (time, format!("event {event}")),
            (_, time) => (event, time.unwrap_or_default()),
        };
        html! { <span class="number" title={other}>{ shown }</span> }
    }
}

/// The label of allocations without a stack.
const NO_SITE: &str = "no stack recorded";

fn pool(pool: PoolId) -> String {
    pool.to_string().replace(" pool", "")
}

fn lifetime(row: &AllocationRow) -> Html {
    let life = &row.lifetime;
    let events = format!("{} events", display::count(u64::from(life.events)));
    let (shown, other) = match life.us {
        Some(us) => (display::duration(us), events),
        None => (events, String::new()),
    };
    let more = if life.at_least { "> " } else { "" };
    html! { <span class="number" title={other}>{ more }{ shown }</span> }
}

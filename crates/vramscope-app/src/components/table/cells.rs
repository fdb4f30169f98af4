//! The cells of the table's rows, and its headings.

use vramscope_protocol::Axis;
use yew::prelude::*;

use vramscope_core::analysis::report::allocations::{AllocationRow, Column};
use vramscope_view::colour::{ColourMode, Rgb};
use vramscope_view::display;

use super::super::site_label::{background, site_label};
use super::super::view_props::ViewProps;
use crate::state::choices::TableChoices;

/// The gap between columns, as in the style sheet.
const GAP_PX: u32 = 10;

/// Which columns are shown, and how.
#[derive(Clone)]
pub(super) struct Cells {
    columns: Vec<Column>,
    /// What the rows' colours stand for.
    colour_by: ColourMode,
    axis: Axis,
    /// Number of allocations of the device.
    allocations: u32,
    has_times: bool,
}

/// A column's heading, its explanation, and whether it holds numbers.
fn head(column: Column) -> (&'static str, &'static str, bool) {
    match column {
        Column::Order => ("#", "Number in order of birth", true),
        Column::Size => ("Size", "Bytes the program asked for", true),
        Column::Block => (
            "Block",
            "Bytes of its block at the end, where it has one",
            true,
        ),
        Column::Rounding => (
            "Rounding",
            "Bytes of its block beyond the requested ones",
            true,
        ),
        Column::Site => ("Call site", "The innermost frame of user code", false),
        Column::Operator => (
            "Operator",
            "The operator or autograd node that made it",
            false,
        ),
        Column::Born => ("Allocated", "By which event, or when", true),
        Column::Died => (
            "Freed",
            "The event, or time, at which its memory became free",
            true,
        ),
        Column::Lifetime => ("Lifetime", "As far as recorded", true),
        Column::Stream => (
            "Stream",
            "Streams in order of first appearance; 0 is the default one",
            true,
        ),
        Column::Pool => ("Pool", "Memory pool", false),
        Column::Category => ("Category", "As the profiler tells it", false),
        Column::Role => (
            "Role",
            "What it is for, inferred from stacks, lifetimes and sizes",
            false,
        ),
        Column::Metadata => ("Metadata", "The text the program had set", false),
        Column::Address => (
            "Address",
            "Start address, and how often it was used before",
            false,
        ),
    }
}

/// The headings. A click sorts.
pub(super) fn heads(cells: &Cells, choices: &TableChoices, on_sort: Callback<Column>) -> Html {
    let one = |&column: &Column| {
        let (name, help, is_number) = head(column);
        let is_sorted = column == choices.column;
        let arrow = match choices.is_descending {
            _ if !is_sorted => "",
            true => " ▾",
            false => " ▴",
        };
        html! {
            <button type="button" tabindex="-1" title={help} class={is_number.then_some("number")} aria-pressed={is_sorted.to_string()}
                data-column={name} onclick={on_sort.reform(move |_| column)}>{ name }{ arrow }</button>
        }
    };
    html! {
        <div class="allocation-row" style="grid-template-columns:var(--columns)">{ for cells.columns.iter().map(one) }</div>
    }
}

impl Cells {
    pub(super) fn of(props: &ViewProps, columns: Vec<Column>) -> Self {
        let facts = props.file.facts();
        Self {
            columns,
            colour_by: props.look.colour_by,
            axis: props.look.axis,
            allocations: facts.map_or(0, |facts| facts.allocations),
            has_times: facts.is_some_and(|facts| facts.time_span_us.is_some()),
        }
    }

    /// The columns of the CSS grid, and their least total width in px.
    pub(super) fn layout(&self) -> (String, u32) {
        let widths = self.columns.iter().map(|&column| self.width(column));
        let template = widths.clone().map(|(least_px, share)| match share {
            0 => format!("{least_px}px"),
            share => format!("minmax({least_px}px,{share}fr)"),
        });
        let least_px: u32 = widths.map(|(least_px, _)| least_px + GAP_PX).sum();
        (
            template.collect::<Vec<_>>().join(" "),
            least_px + 2 * GAP_PX,
        )
    }

    /// A column's least width in px, and its share of the remaining width. Columns with a share hold texts, which may
    /// be cut; the values of the others fit.
    fn width(&self, column: Column) -> (u32, u32) {
        match column {
            Column::Order => {
                let digits = display::count(self.allocations.into()).len();
                ((digits as u32 * 8).max(32), 0)
            }
            Column::Lifetime if !self.has_times => (124, 0),
            Column::Size | Column::Block | Column::Rounding | Column::Lifetime => (68, 0),
            Column::Site => (150, 8),
            Column::Operator => (80, 3),
            Column::Born | Column::Died if self.axis == Axis::Events => (70, 0),
            Column::Born | Column::Died => (86, 0),
            Column::Stream => (52, 0),
            Column::Pool => (104, 1),
            Column::Category | Column::Role => (84, 1),
            Column::Metadata => (80, 2),
            Column::Address => (106, 0),
        }
    }

    pub(super) fn row(&self, row: &AllocationRow, colour: Rgb) -> Html {
        html! {
            <div class="allocation-row" style="grid-template-columns:var(--columns)">
                { for self.columns.iter().map(|&column| self.cell(row, colour, column)) }
            </div>
        }
    }

    fn cell(&self, row: &AllocationRow, colour: Rgb, column: Column) -> Html {
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
            Column::Site => self.site(row, colour),
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
            Column::Pool => text(row.pool.as_deref()),
            Column::Category => text(row.category.as_deref()),
            Column::Role => text(Some(row.role.label())),
            Column::Metadata => text(row.metadata.as_deref()),
            Column::Address => {
                let name = display::allocation_id(row.address, row.version);
                html! { <span class="mono" title={name}>{ display::address(row.address) }</span> }
            }
        }
    }

    /// The call site, after the colour that the row has in the pictures.
    fn site(&self, row: &AllocationRow, colour: Rgb) -> Html {
        html! {
            <span class="site" title={row.site.clone()}>
                <span class="swatch" title={format!("Its colour by {}", self.colour_by.word())} style={background(colour)} aria-hidden="true" />
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

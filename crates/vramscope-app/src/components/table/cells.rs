//! The cells of the table's rows, and its headings.

use vramscope_protocol::Axis;
use yew::prelude::*;

use vramscope_core::analysis::properties::{Kind, Property};
use vramscope_core::analysis::report::allocations::{AllocationRow, Cell};
use vramscope_core::analysis::time::lifetime::Lifetime;
use vramscope_view::colour::Rgb;
use vramscope_view::display;

use super::super::site_label::{background, site_label};
use super::super::view_props::ViewProps;
use crate::state::choices::TableChoices;

/// The gap between columns, as in the style sheet.
const GAP_PX: u32 = 10;

/// Which columns are shown, and how.
#[derive(Clone)]
pub(super) struct Cells {
    columns: Vec<Property>,
    /// What the rows' colours stand for.
    colour_by: Property,
    axis: Axis,
    /// Number of allocations of the device.
    allocations: u32,
    has_times: bool,
}

/// The headings. A click sorts.
pub(super) fn heads(cells: &Cells, choices: &TableChoices, on_sort: Callback<Property>) -> Html {
    let one = |&column: &Property| {
        let (name, help) = (column.row().heading, column.row().help);
        let is_number = !matches!(column.kind(), Kind::Name | Kind::Choice | Kind::Address);
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
    pub(super) fn of(props: &ViewProps, columns: Vec<Property>) -> Self {
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
    fn width(&self, column: Property) -> (u32, u32) {
        match (column, column.kind()) {
            (Property::Order, _) => {
                let digits = display::count(self.allocations.into()).len();
                ((digits as u32 * 8).max(32), 0)
            }
            (Property::CallSite, _) => (150, 8),
            (Property::Stream, _) => (52, 0),
            // No count is as long as its heading.
            (_, Kind::Number) => ((column.row().heading.len() as u32 * 9).max(44), 0),
            (Property::Pool, _) => (104, 1),
            (_, Kind::Bytes) => (68, 0),
            (_, Kind::Length) => (if self.has_times { 68 } else { 124 }, 0),
            (_, Kind::Moment) => (if self.axis == Axis::Events { 70 } else { 86 }, 0),
            (_, Kind::Address) => (106, 0),
            (_, Kind::Choice) => (84, 1),
            (_, Kind::Name) => (80, 3),
        }
    }

    pub(super) fn row(&self, row: &AllocationRow, colour: Rgb) -> Html {
        let cells = self.columns.iter().zip(&row.cells);
        html! {
            <div class="allocation-row" style="grid-template-columns:var(--columns)">
                { for cells.map(|(&column, cell)| self.cell(column, cell, colour)) }
            </div>
        }
    }

    fn cell(&self, column: Property, cell: &Cell, colour: Rgb) -> Html {
        match (cell, column) {
            (Cell::Unknown, _) => unknown(column),
            (Cell::Name(site), Property::CallSite) => self.site(site, colour),
            (Cell::Name(name), _) => html! { <span title={name.clone()}>{ name }</span> },
            (Cell::Bytes(bytes), _) => number(display::bytes(*bytes), display::bytes_exact(*bytes)),
            (Cell::Number(order), Property::Order) => {
                html! { <span class="number muted">{ display::count(*order) }</span> }
            }
            (Cell::Number(count), _) => number(display::count(*count), String::new()),
            (Cell::Moment { moment: 0, .. }, _) => {
                html! { <span class="number muted" title="Before the recording began">{ "before" }</span> }
            }
            (
                Cell::Moment {
                    moment,
                    since_start_us,
                },
                _,
            ) => self.moment(*moment, *since_start_us),
            (Cell::Lifetime(life), _) => lifetime(life),
            (Cell::Address { address, version }, _) => {
                let name = display::allocation_id(*address, *version);
                html! { <span class="mono" title={name}>{ display::address(*address) }</span> }
            }
        }
    }

    /// The call site, after the colour that the row has in the pictures.
    fn site(&self, site: &str, colour: Rgb) -> Html {
        html! {
            <span class="site" title={site.to_owned()}>
                <span class="swatch" title={format!("Its colour by {}", self.colour_by.name())} style={background(colour)} aria-hidden="true" />
                { site_label(site) }
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

/// What stands in place of a value that there is not.
fn unknown(column: Property) -> Html {
    match (column, column.kind()) {
        (Property::Died, _) => {
            html! { <span class="number muted" title="Still live at the end">{ "still live" }</span> }
        }
        (_, Kind::Bytes) => {
            html! { <span class="number muted" title="Not recorded: it was freed before the end" /> }
        }
        _ => html! { <span /> },
    }
}

fn number(text: String, title: String) -> Html {
    html! { <span class="number" title={title}>{ text }</span> }
}

fn lifetime(life: &Lifetime) -> Html {
    let events = format!("{} events", display::count(u64::from(life.events)));
    let (shown, other) = match life.us {
        Some(us) => (display::duration(us), events),
        None => (events, String::new()),
    };
    let more = if life.at_least { "> " } else { "" };
    html! { <span class="number" title={other}>{ more }{ shown }</span> }
}

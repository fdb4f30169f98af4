//! Answers to [`protocol::views::table`](vramscope_protocol::views::table).
//!
//! Keeps the sorted columns and the rows of the last table, so that scrolling only fills a window.

use std::rc::Rc;

use vramscope_core::analysis::properties::Property;
use vramscope_core::analysis::report::allocations::{
    Permutations, columns_with_values, place_of, rows,
};
use vramscope_core::analysis::search::filter::{Totals, totals};
use vramscope_core::bitset::BitSet;
use vramscope_core::ids::AllocationId;
use vramscope_core::model::DeviceIndex;
use vramscope_core::tables::{append_csv, csv_header};
use vramscope_protocol::views::table::{
    Answer, MOST_CSV_ROWS, MOST_ROWS, Question, Selection, TableOrder, TableWindow,
};
use vramscope_protocol::{Extra, Look};

use super::super::colours::Colours;
use super::super::document::{Device, Document};

/// The data kept from one question to the next.
#[derive(Default)]
pub(super) struct Cache {
    sorted: Option<(DeviceIndex, Permutations)>,
    columns: Option<(DeviceIndex, Vec<Property>)>,
    table: Option<TableRows>,
}

/// The rows of a table.
struct TableRows {
    order: TableOrder,
    rows: Vec<u32>,
    /// The allocations in it; `None` = all.
    set: Option<Rc<BitSet>>,
    totals: Option<(u32, Totals)>,
}

/// The answer with its attachment; `None` if there is no such device.
pub(super) fn answer(
    question: &Question,
    document: &Document,
    colours: &mut Colours,
    cache: &mut Cache,
) -> Option<(Answer, Extra)> {
    match *question {
        Question::Rows {
            ref order,
            first,
            count,
            locate,
            moment,
            colour_by,
            theme,
        } => {
            let window = (first, count.min(MOST_ROWS));
            let mut window = cache.window(document, order, window, locate, moment)?;
            let look = Look {
                device: order.device,
                colour_by,
                theme,
                ..Look::default()
            };
            let groups = colours.of(document.device(order.device)?, &look);
            let allocations = window.rows.iter().map(|row| row.allocation);
            window.colours = allocations.map(|id| groups.rgb_of(id.index())).collect();
            Some((Answer::Rows(window), Extra::Nothing))
        }
        Question::Csv {
            ref order,
            first,
            count,
        } => {
            let device = document.device(order.device)?;
            let table = cache.table(document, device, order)?;
            let mut text = if first == 0 {
                csv_header()
            } else {
                String::new()
            };
            append_csv(
                *device,
                cut(&table.rows, first, count.min(MOST_CSV_ROWS)),
                &mut text,
            );
            let all_rows = table.rows.len() as u32;
            Some((Answer::Csv { all_rows }, Extra::Bytes(text.into_bytes())))
        }
    }
}

impl Cache {
    fn window(
        &mut self,
        document: &Document,
        order: &TableOrder,
        (first, count): (u32, u32),
        locate: Option<AllocationId>,
        moment: Option<u32>,
    ) -> Option<TableWindow> {
        let device = document.device(order.device)?;
        let columns = match self.columns.take() {
            Some((of, columns)) if of == order.device => columns,
            _ => columns_with_values(*device),
        };
        self.columns = Some((order.device, columns.clone()));
        let table = self.table(document, device, order)?;
        let history = device.history;
        let moment = moment
            .unwrap_or(history.peak_moment)
            .min(history.event_count);
        let totals = match table.totals {
            Some((at, totals)) if at == moment => totals,
            _ => totals(history, table.set.as_deref(), moment),
        };
        table.totals = Some((moment, totals));
        Some(TableWindow {
            all_rows: table.rows.len() as u32,
            first,
            rows: rows(*device, &columns, cut(&table.rows, first, count)).collect(),
            colours: Vec::new(),
            place: locate.and_then(|allocation| place_of(&table.rows, allocation)),
            totals,
            columns,
        })
    }

    /// The rows of a table, sorted and filtered anew unless they are the last ones.
    fn table(
        &mut self,
        document: &Document,
        device: Device<'_>,
        order: &TableOrder,
    ) -> Option<&mut TableRows> {
        if self
            .table
            .as_ref()
            .is_none_or(|table| table.order != *order)
        {
            let sorted = self.sorted.take().filter(|(of, _)| *of == order.device);
            let (_, permutations) = self
                .sorted
                .insert(sorted.unwrap_or_else(|| (order.device, Permutations::default())));
            let set = listed(document, device, order);
            let column = permutations.get(*device, order.column);
            self.table = Some(TableRows {
                order: order.clone(),
                rows: column.shown(order.is_descending, set.as_deref()),
                set,
                totals: None,
            });
        }
        self.table.as_mut()
    }
}

/// The allocations that a table lists: those that are selected and match; `None` = all.
fn listed(document: &Document, device: Device<'_>, order: &TableOrder) -> Option<Rc<BitSet>> {
    let matches = document.matches(device, order.filter.as_ref());
    if order.selection == Selection::All {
        return matches;
    }
    let lives = &device.history.allocations;
    let is_listed = |row: usize| {
        let is_match = matches.as_ref().is_none_or(|set| set.contains(row));
        is_match && order.selection.holds(lives.born[row], lives.died[row])
    };
    Some(Rc::new(BitSet::from_fn(lives.born.len(), is_listed)))
}

/// At most `count` rows from the `first` on.
fn cut(rows: &[u32], first: u32, count: u32) -> &[u32] {
    let end = (first.saturating_add(count) as usize).min(rows.len());
    rows.get(first as usize..end).unwrap_or(&[])
}

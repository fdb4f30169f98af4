//! `vramscope find`: the allocations that match a filter in the page's filter language.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use clap::Args;
use vramscope_core::analysis::groups::grouping::{GroupTotal, totals_of};
use vramscope_core::analysis::properties::{Kind, Property, Shown};
use vramscope_core::analysis::report::allocations::{AllocationRow, Cell as Value, rows, sorted};
use vramscope_core::analysis::search::filter::{
    Filter, FilterError, Matches, Pointed, keys, matches, totals,
};
use vramscope_core::ids::AllocationId;
use vramscope_core::model::DeviceIndex;
use vramscope_core::units::Count;
use vramscope_view::display;

use super::peak::operators;
use crate::arguments::{Grouping, Inputs, Show, grouped, property};
use crate::failure::Failure;
use crate::inputs::{Question, Source, ask};
use crate::report::{Cell, Column, Part, Rest, Rows, column, detail, remark, rows_shown, sum};
use crate::subject::{Device, Stack, Subject};

/// List the allocations that match a filter, e.g. 'frame:attention size>100MiB live@peak'
///
/// The filter is that of the page's search box. Terms are joined by blanks (all of them), | (either) and ! (not), and
/// grouped by ( ). `vramscope find --help` lists them.
#[derive(Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{}\n{EXAMPLES}", language()))]
pub(crate) struct Options {
    /// Filter for allocations; '' matches all
    #[arg(value_name = "FILTER")]
    filter: String,
    #[command(flatten)]
    inputs: Inputs,
    /// Order of the list
    #[arg(
        long,
        default_value = "size",
        value_name = "COLUMN",
        value_parser = property(|_| true),
        conflicts_with = "group_by"
    )]
    sort: Property,
    /// Print each allocation's stack, from the innermost frame outwards
    #[arg(long, conflicts_with = "group_by")]
    stack: bool,
    /// The moment of the filter's word cursor
    #[arg(long, value_name = "MOMENT")]
    cursor: Option<String>,
    /// The range of the filter's word range
    #[arg(long, value_name = "A..B")]
    range: Option<String>,
    /// List groups of allocations instead of each one
    #[arg(long, value_name = "WHAT", value_parser = grouped())]
    group_by: Option<Property>,
    /// Frames per group: 1 = the place, 2 = the place and its caller, ...
    #[arg(long, value_name = "N", default_value_t = 1, requires = "group_by", value_parser = clap::value_parser!(u8).range(1..))]
    depth: u8,
    #[command(flatten)]
    show: Show,
}

const EXAMPLES: &str = "\
Examples:
  vramscope find 'frame:attention size>100MiB live@peak' snapshot.pickle
  vramscope find 'live !before' snapshot.pickle --stack --limit 3
  vramscope find 'lifetime>1s | pool:private' snapshot.pickle --group-by function
  vramscope find 'live@cursor' --cursor 'train_step[2]:peak' snapshot.pickle --csv";

const GROUP_COLUMNS: [Column; 5] = [
    sum("bytes", "bytes"),
    sum("allocations", "allocations"),
    column("largest_bytes", "largest"),
    remark("operators", "operators"),
    column("group", ""),
];

/// The columns of a list. Text has room for one lifetime column, and for either stack or call site.
fn columns(has_times: bool, has_stacks: bool) -> Vec<Column> {
    let text_or_detail = |is_text: bool, key, header| match is_text {
        true => column(key, header),
        false => detail(key),
    };
    let mut columns = vec![
        sum("bytes", "bytes"),
        column("born_moment", "born"),
        column("died_moment", "died"),
        column("lifetime_us", "lived"),
        text_or_detail(!has_times, "lifetime_events", "lived (ev)"),
        detail("lifetime_is_lower_bound"),
        column("allocation", "allocation"),
    ];
    // Counts would make the lines of the text too wide.
    columns.extend(others().map(|property| match property.row() {
        row if row.kind == Kind::Number => detail(row.word),
        row => column(row.word, row.word),
    }));
    columns.push(text_or_detail(!has_stacks, "call_site", "call site"));
    columns.extend(has_stacks.then(|| column("stack", "stack")));
    columns
}

/// The properties shown of an allocation besides its size, life, address and call site.
fn others() -> impl Iterator<Item = Property> {
    let told = [Property::Order, Property::CallSite];
    let is_other = move |property: &Property| {
        let is_told = told.contains(property) || property.row().shown == Shown::InGroups;
        !is_told && matches!(property.kind(), Kind::Number | Kind::Name | Kind::Choice)
    };
    Property::all().filter(is_other)
}

/// The help on the filter language, made from the language's own tables.
fn language() -> String {
    let mut text = "Terms:\n  word, \"two words\"          in the call site, the stack, or any text attached to it\n".to_owned();
    let terms = keys::all().map(|key| (key.example, key.help));
    let flags = keys::FLAGS.iter().map(|flag| (flag.name, flag.help));
    for (term, help) in terms.chain(flags) {
        text.push_str(&format!("  {term:26} {help}\n"));
    }
    text
}

pub(crate) fn run(options: &Options, source: &mut Source<'_>) -> Result<(), Failure> {
    source.come_after(&options.inputs, "find", &options.filter)?;
    let filter = parse(&options.filter)?;
    let search = Search { options, filter };
    ask(source, &search, &options.inputs, options.show)
}

/// Parses a filter; the failure shows where the mistake is.
pub(super) fn parse(text: &str) -> Result<Filter, Failure> {
    Filter::parse(text).map_err(|error| at_fault(text, &error))
}

/// The failure for a wrong filter, with carets below the mistake.
fn at_fault(text: &str, error: &FilterError) -> Failure {
    let width = |text: Option<&str>| text.map_or(0, |text| text.chars().count());
    let (before, wrong) = (text.get(..error.span.start), text.get(error.span.clone()));
    let (indent, carets) = (" ".repeat(width(before)), "^".repeat(width(wrong).max(1)));
    // A line break in the filter would separate the carets from the mistake.
    let text = text.replace(['\n', '\t'], " ");
    Failure::Usage(format!("the filter cannot be read: {}", error.message)).followed_by([
        text,
        indent + &carets,
        "`vramscope find --help` lists all terms.".to_owned(),
    ])
}

struct Search<'a> {
    options: &'a Options,
    filter: Filter,
}

impl Question for Search<'_> {
    const COMMAND: &'static str = "find";

    fn parts(&self, subject: &Arc<Subject>) -> Result<Vec<Part>, Failure> {
        subject.each_device(|device| self.part(subject, device))
    }
}

impl Search<'_> {
    fn part(&self, subject: &Arc<Subject>, device: &Device<'_>) -> Result<Part, Failure> {
        let options = self.options;
        let cursor = options.cursor.as_deref();
        let range = options.range.as_deref();
        let pointed = Pointed {
            cursor: cursor.map(|text| device.moment(text)).transpose()?,
            range: range.map(|text| device.range(text)).transpose()?,
        };
        let found = matches(&self.filter, **device, pointed);
        let mut part = Part::of(&subject.name, device.index());
        self.facts(&mut part, device, &found);
        match options.group_by {
            Some(group_by) => {
                let depth = options.depth;
                group_table(&mut part, device, Grouping { group_by, depth }, &found);
            }
            None => self.table(&mut part, subject, device, &found),
        }
        part.notes.extend(found.notes);
        if self.filter.uses_cursor() && cursor.is_none() {
            part.notes
                .push("--cursor MOMENT says where the cursor is.".to_owned());
        }
        if self.filter.uses_range() && range.is_none() {
            part.notes
                .push("--range A..B says which range is selected.".to_owned());
        }
        Ok(part)
    }

    fn facts(&self, part: &mut Part, device: &Device<'_>, found: &Matches) {
        let history = device.history;
        let sums = totals(history, Some(&found.set), history.event_count);
        let all = Count(history.allocations.len() as u64);
        part.fact_with(
            "matches",
            "found",
            Cell::Number(sums.count),
            format!("of {all} allocations"),
        );
        part.fact("bytes", "together", Cell::Bytes(sums.bytes));
        part.fact_with(
            "highest_bytes",
            "most live at once",
            Cell::Bytes(sums.highest_bytes),
            match sums.highest_bytes {
                0 => String::new(),
                _ => format!("after event {}", Count(sums.highest_moment.into())),
            },
        );
        part.fact(
            "peak_bytes",
            "live at the peak",
            Cell::Bytes(sums.peak_bytes),
        );
        part.fact(
            "live_bytes",
            "live at the end",
            Cell::Bytes(sums.live_bytes),
        );
    }

    /// Adds one row per allocation.
    fn table(&self, part: &mut Part, subject: &Arc<Subject>, device: &Device<'_>, found: &Matches) {
        let options = self.options;
        let by = options.sort;
        let mut shown = sorted(**device, by).shown(by.is_largest_first(), Some(&found.set));
        let others = shown.split_off(rows_shown(shown.len(), options.show));
        let columns = columns(device.has_times(), options.stack);
        let listed = Listed {
            subject: Arc::clone(subject),
            device: device.index(),
            shown,
            has_stacks: options.stack,
        };
        part.long_table("allocations", "", &columns, listed);
        let Some(table) = part.tables.last_mut().filter(|_| !others.is_empty()) else {
            return;
        };
        let sizes = &device.history.allocations.bytes;
        let sizes = others.iter().filter_map(|&row| sizes.get(row as usize));
        let mut sums = vec![Cell::None; columns.len()];
        sums[0] = Cell::Bytes(sizes.fold(0, |sum: u64, &bytes| sum.saturating_add(bytes)));
        let rows = others.len();
        table.unmade = Some(Rest { rows, sums });
    }
}

/// The rows of a list of allocations.
struct Listed {
    subject: Arc<Subject>,
    device: DeviceIndex,
    /// Their rows in the table of allocations.
    shown: Vec<u32>,
    has_stacks: bool,
}

impl Rows for Listed {
    fn count(&self) -> usize {
        self.shown.len()
    }

    fn range(&self, range: Range<usize>) -> Box<dyn Iterator<Item = Cow<'_, [Cell]>> + '_> {
        let device = self.subject.device(self.device).into_iter();
        let shown = &self.shown[range];
        let rows = device.flat_map(move |device| {
            rows(device, &properties(), shown).map(move |row| {
                let (stack, _) = device.history.stack(device.snapshot(), row.allocation);
                let mut cells = cells(row);
                if self.has_stacks {
                    let subject = Arc::clone(&self.subject);
                    cells.push(Cell::Lines(Arc::new(Stack { subject, id: stack })));
                }
                cells.into()
            })
        });
        Box::new(rows)
    }
}

/// A row's properties, in the order of the [`columns`].
fn properties() -> Vec<Property> {
    let first = [
        Property::Size,
        Property::Born,
        Property::Died,
        Property::Lifetime,
        Property::Address,
    ];
    first
        .into_iter()
        .chain(others())
        .chain([Property::CallSite])
        .collect()
}

fn cells(row: AllocationRow) -> Vec<Cell> {
    let mut cells = Vec::with_capacity(row.cells.len() + 2);
    for value in row.cells {
        match value {
            Value::Unknown => cells.push(Cell::None),
            Value::Number(number) => cells.push(Cell::Number(number)),
            Value::Bytes(bytes) => cells.push(Cell::Bytes(bytes)),
            Value::Moment { moment, .. } => cells.push(Cell::Number(moment.into())),
            Value::Lifetime(life) => {
                let span = life.us.map(|us| us.max(0).cast_unsigned());
                cells.extend([
                    Cell::or_none(span, Cell::SpanUs),
                    Cell::Number(life.events.into()),
                    Cell::Flag(life.at_least),
                ]);
            }
            Value::Address { address, version } => {
                cells.push(Cell::Text(display::allocation_id(address, version)));
            }
            Value::Name(name) => cells.push(Cell::Text(name)),
        }
    }
    cells
}

fn group_table(part: &mut Part, device: &Device<'_>, grouping: Grouping, found: &Matches) {
    let groups = device.groups(grouping);
    let ids = || found.set.iter().map(AllocationId::from_index);
    let totals = totals_of(device.history, &groups, ids());
    let known = groups.operators_of(**device, ids());
    let row = move |total: &GroupTotal| {
        vec![
            Cell::Bytes(total.bytes),
            Cell::Number(total.count),
            Cell::Bytes(total.largest_bytes),
            operators(&known, total.group),
            Cell::Text(groups.labels[total.group as usize].clone()),
        ]
    };
    part.long_table("groups", "", &GROUP_COLUMNS, (totals, row));
}

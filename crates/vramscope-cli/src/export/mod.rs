//! Snapshots as files: in torch's own formats and in those of other tools, a file here for each.
//!
//! `format` lists them all, `destination` is where they go. A format is a function that writes a snapshot, or
//! one that writes what was worked out about it ([`Content`](format::Content)). What formats share: `tables`
//! (rows for CSV, Parquet and Perfetto) and `stacks` (call paths for speedscope, pprof and folded stacks).
//! Everything is written as it is made, and no format computes a number. `exports.md` beside the manifest
//! tells users what is in each.

mod csv;
pub(crate) mod destination;
mod folded;
pub(crate) mod format;
mod parquet;
mod perfetto;
mod pprof;
mod speedscope;
mod stacks;
mod tables;

use std::io::Write;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde::Serialize;
use vramscope_core::analysis::selection::Weight;
use vramscope_core::tables::Table;

use crate::arguments::{Size, parse_size};
use crate::failure::Failure;
/// For what goes wrong while writing; the destination adds its name.
use crate::output::unwritten as failed;

pub(crate) use tables::Source;

/// What wrote a file, where a format has a place for it.
const WRITER: &str = concat!("vramscope ", env!("CARGO_PKG_VERSION"));

/// What of a snapshot goes into formats that hold a part of it.
#[derive(Args, Default)]
pub(crate) struct Asked {
    /// speedscope, pprof, folded: what was live at this moment, instead of the peak: an event, a time, an
    /// annotated range
    #[arg(long, value_name = "MOMENT")]
    at: Option<String>,
    /// folded: what a call path counts
    #[arg(long, value_enum, default_value_t, value_name = "WHAT")]
    weight: WeightWord,
    /// perfetto: only allocations of at least this size; else the 100,000 largest of each device
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    min_size: Option<Size>,
    /// csv, parquet: only this table, as a file
    #[arg(long, value_name = "TABLE", value_parser = table_parser())]
    pub(crate) table: Option<Table>,
}

/// [`Weight`] as an argument.
#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
enum WeightWord {
    /// Requested bytes
    #[default]
    Bytes,
    /// Allocations
    Count,
    /// Bytes times the events they were live for
    ByteEvents,
}

impl WeightWord {
    fn weight(self) -> Weight {
        match self {
            Self::Bytes => Weight::Bytes,
            Self::Count => Weight::Count,
            Self::ByteEvents => Weight::ByteEvents,
        }
    }
}

fn table_parser() -> impl TypedValueParser<Value = Table> {
    PossibleValuesParser::new(Table::ALL.map(Table::name))
        .try_map(|name| table_named(&name).ok_or("no such table"))
}

/// The table of a name.
pub(crate) fn table_named(name: &str) -> Option<Table> {
    Table::ALL.into_iter().find(|table| table.name() == name)
}

/// Writes a value as JSON, on one line.
fn write_json(out: &mut dyn Write, value: &impl Serialize) -> Result<(), Failure> {
    serde_json::to_writer(out, value).map_err(|error| failed(error.into()))
}

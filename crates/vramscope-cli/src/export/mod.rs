//! Snapshots as files: in torch's own formats and in those of other tools, a file here for each.
//!
//! `format` lists them all. A format is a function that writes a snapshot, or
//! one that writes what was worked out about it ([`Content`](format::Content)). What formats share: `tables`
//! (rows for CSV, Parquet and Perfetto) and `stacks` (call paths for speedscope, pprof and folded stacks).
//! Everything is written as it is made, and no format computes a number. `exports.md` beside the manifest
//! tells users what is in each.

mod csv;
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

use format::Format;

/// What wrote a file, where a format has a place for it.
const WRITER: &str = concat!("vramscope ", env!("CARGO_PKG_VERSION"));

/// What of a snapshot goes into formats that hold a part of it.
#[derive(Args, Default)]
pub(crate) struct Asked {
    /// speedscope, pprof, folded: what was live at this moment, instead of the peak: an event, a time, an
    /// annotated range
    #[arg(long, value_name = "MOMENT")]
    at: Option<String>,
    /// folded: what a call path counts [default: bytes]
    #[arg(long, value_enum, value_name = "WHAT")]
    weight: Option<WeightWord>,
    /// perfetto: only allocations of at least this size; else the 100,000 largest of each device
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    min_size: Option<Size>,
    /// csv, parquet: only this table, as a file
    #[arg(long, value_name = "TABLE", value_parser = table_parser())]
    pub(crate) table: Option<Table>,
}

impl Asked {
    fn weight(&self) -> Weight {
        self.weight.map_or(Weight::Bytes, WeightWord::weight)
    }

    /// Refuses options that mean nothing in the format.
    ///
    /// # Errors
    /// When there is one.
    pub(crate) fn check(&self, format: &Format) -> Result<(), Failure> {
        let given: [(&str, bool, &[&str]); 4] = [
            ("at", self.at.is_some(), &["speedscope", "pprof", "folded"]),
            ("weight", self.weight.is_some(), &["folded"]),
            ("min-size", self.min_size.is_some(), &["perfetto"]),
            ("table", self.table.is_some(), &["csv", "parquet"]),
        ];
        let misplaced = given
            .into_iter()
            .find(|(_, is_given, formats)| *is_given && !formats.contains(&format.name));
        match misplaced {
            None => Ok(()),
            Some((option, _, formats)) => Err(Failure::Usage(format!(
                "--{option} means nothing in {}; it is for {}",
                format.name,
                formats.join(", ")
            ))),
        }
    }
}

/// [`Weight`] as an argument.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum WeightWord {
    /// Requested bytes
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

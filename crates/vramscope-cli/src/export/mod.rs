//! Snapshots as files: one file here per format, torch's own and those of other tools.
//!
//! `format` lists them. A format is a function that writes a snapshot, or one that writes analyses of it
//! ([`Content`](format::Content)). Formats share `tables` (rows for CSV, Parquet and Perfetto) and `stacks` (call paths
//! for speedscope, pprof and folded stacks). Output is written while it is produced, and no format computes a number.
//! `exports.md` beside the manifest describes each format for users.

pub(crate) mod bounded;
mod csv;
mod folded;
pub(crate) mod format;
pub(crate) mod parquet;
mod perfetto;
mod pprof;
mod speedscope;
mod stacks;
mod tables;

use std::io::Write;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde::Serialize;
use vramscope_core::analysis::report::facts::warning_line;
use vramscope_core::analysis::time::selection::Weight;
use vramscope_core::tables::Table;

use crate::arguments::{Size, parse_size};
use crate::failure::Failure;
/// Write errors; the destination adds its name.
use crate::output::unwritten as failed;
use crate::subject::Subject;

use format::Format;

/// The producer's name, for formats that have a field for it.
pub(crate) const WRITER: &str = concat!("vramscope ", env!("CARGO_PKG_VERSION"));

/// Options that select a part of a snapshot.
#[derive(Args, Default)]
pub(crate) struct Asked {
    /// speedscope, pprof, folded: what was live at this moment, instead of the peak: an event, a time, an annotated
    /// range
    #[arg(long, value_name = "MOMENT")]
    at: Option<String>,
    /// folded: the weight of a call path [default: bytes]
    #[arg(long, value_enum, value_name = "WHAT")]
    weight: Option<WeightWord>,
    /// perfetto: only allocations of at least this size; by default the 100,000 largest of each device
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

    /// Fails for an option that has no meaning in the format.
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
    /// Bytes times lifetime in events
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

/// Finds a table by its name.
pub(crate) fn table_named(name: &str) -> Option<Table> {
    Table::ALL.into_iter().find(|table| table.name() == name)
}

/// What is damaged in the file, for formats that have a field for remarks.
fn damage_lines(subject: &Subject) -> Vec<String> {
    let damage = subject.snapshot.warnings.damage();
    damage.map(warning_line).collect()
}

/// Writes a value as JSON, on one line.
fn write_json(out: &mut dyn Write, value: &impl Serialize) -> Result<(), Failure> {
    serde_json::to_writer(out, value).map_err(|error| failed(error.into()))
}

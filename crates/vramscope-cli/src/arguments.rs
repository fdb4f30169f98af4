//! Options with the same meaning in every command that has them.

mod size;
mod time;
mod view;

pub(crate) use size::{Size, parse_capacity, parse_number, parse_size};
pub(crate) use time::parse_time;
pub(crate) use view::parse_view;

use std::ops::Deref;
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use vramscope_core::analysis::properties::Property;
use vramscope_core::model::DeviceIndex;

use crate::failure::Failure;
use crate::input::is_stdin;

/// The files and the device that a command is about.
#[derive(Args)]
pub(crate) struct Snapshots {
    /// Snapshots, or folders of them (one per rank); `-` reads standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Only this device
    #[arg(long, value_name = "N")]
    pub(crate) device: Option<DeviceIndex>,
}

/// [`Snapshots`] for commands that read several files at once.
#[derive(Args)]
pub(crate) struct Inputs {
    #[command(flatten)]
    snapshots: Snapshots,
    /// Memory limit for files that are read at once
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "4GiB")]
    pub(crate) memory: Size,
}

impl Inputs {
    /// These files, with default options.
    #[cfg(unix)]
    pub(crate) fn of(files: Vec<PathBuf>) -> Self {
        Self {
            snapshots: Snapshots {
                files,
                device: None,
            },
            memory: Size(4 << 30),
        }
    }
}

impl Deref for Inputs {
    type Target = Snapshots;

    fn deref(&self) -> &Snapshots {
        &self.snapshots
    }
}

impl Snapshots {
    /// Fails and shows the right order of the arguments if the first file has a name that belongs in place of `first`.
    pub(crate) fn come_after(&self, command: &str, first: &str) -> Result<(), Failure> {
        let Some(file) = self.files.first() else {
            return Ok(());
        };
        if Path::new(first).exists() && !file.exists() && !is_stdin(file) {
            return Err(Failure::Usage(format!(
                "the file comes last: vramscope {command} '{}' {first}",
                file.display()
            )));
        }
        Ok(())
    }
}

/// How to print an answer.
#[derive(Args, Clone, Copy, Default)]
pub(crate) struct Show {
    /// Print JSON: schema 3, described by `vramscope man json`
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the main table as CSV, sizes in bytes
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,
    /// Print sizes in bytes instead of KiB, MiB and GiB
    #[arg(long)]
    pub(crate) bytes: bool,
    /// Rows per table, 0 for all; by default JSON and CSV have all
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub(crate) limit: Option<usize>,
}

/// Parses a number of rows, for clap's `value_parser`.
fn parse_count(text: &str) -> Result<usize, String> {
    let number = parse_number(text)?;
    Ok(usize::try_from(number).unwrap_or(usize::MAX))
}

/// The ways to name moments and ranges, for the help of commands that take them.
pub(crate) const MOMENTS: &str = "\
Moments:
  1234                    after so many events; 0 is before the first
  2.5s, 350ms             so long after the first event
  peak, start, end        the highest moment; before the first event, after the last
  oom, oom[2]             after a request that failed
  NAME, NAME[3], NAME[-1] the end of an annotated range: the first of that name, the third, the last
  NAME:start, NAME:peak   its beginning, its highest moment

Ranges:
  A..B, A.., ..B          between two moments; NAME as A is where it begins
  NAME, NAME[3]           an annotated range
  all                     the whole recording";

/// The rows of a table of memory.
#[derive(Args, Clone, Copy)]
pub(crate) struct Grouping {
    /// Group rows by this
    #[arg(long, default_value = "call-site", value_name = "WHAT", value_parser = grouped())]
    pub(crate) group_by: Property,
    /// Frames per row: 1 = the place, 2 = the place and its caller, ...
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..))]
    pub(crate) depth: u8,
}

/// Parses a property by which allocations can be grouped.
pub(crate) fn grouped() -> impl TypedValueParser<Value = Property> {
    property(Property::is_grouped)
}

/// Parses the word of a property that passes `may`.
pub(crate) fn property(may: fn(Property) -> bool) -> impl TypedValueParser<Value = Property> {
    let possible = Property::all().filter(|&property| may(property));
    let possible = possible.map(|property| {
        let row = property.row();
        let word = PossibleValue::new(row.word.replace('_', "-")).help(row.help);
        word.aliases(row.alias)
    });
    PossibleValuesParser::new(possible.collect::<Vec<_>>())
        .map(|word| Property::of_word(&word).unwrap_or_default())
}

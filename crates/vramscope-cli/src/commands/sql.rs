//! `vramscope sql`: SQL over the tables of a dataset, or of snapshots.
//!
//! The engine is `vramscope-sql`, which takes minutes to build and is only included with the feature `sql`. The
//! description of the tables is always included.

#[cfg(feature = "sql")]
mod asked;
#[cfg(not(feature = "sql"))]
mod elsewhere;
#[cfg(feature = "sql")]
mod shown;
mod tables;

use std::path::PathBuf;

use clap::Args;

use crate::arguments::{Show, Size, parse_size};
use crate::failure::Failure;
use crate::inputs::RankNames;
#[cfg(not(feature = "sql"))]
use crate::output;

/// Answer SQL about many ranks: a dataset, or snapshots
///
/// Each kind of thing in a snapshot is a table: events, allocations, segments, ...; `rank` says whose row it is. What
/// `vramscope fleet` knows about each rank is there too: ranks, curve, sites_at_peak, findings, failures. `vramscope
/// sql --tables` describes them. SQL cannot change or write anything.
///
/// Snapshots become the same tables as with `vramscope fleet pack`, for as long as the query runs.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// The query; `-` reads it from standard input
    #[arg(required_unless_present = "tables", value_name = "SQL", allow_hyphen_values = true, value_parser = query)]
    sql: Option<String>,
    /// A dataset, or snapshots, or folders of them
    #[arg(required_unless_present = "tables", value_name = "DATASET|FILE")]
    files: Vec<PathBuf>,
    /// Describe the tables and columns; runs no query
    #[arg(long, conflicts_with_all = ["sql", "csv", "bytes", "limit", "parquet", "explain"])]
    tables: bool,
    /// Print how the query would be executed, and which files it would read
    #[arg(long, conflicts_with_all = ["csv", "parquet"])]
    explain: bool,
    /// Write all rows into this Parquet file
    #[arg(long, value_name = "OUT", conflicts_with_all = ["json", "csv", "limit"])]
    parquet: Option<PathBuf>,
    /// Extract the rank from the names of snapshots by a regular expression: from its first group, or from groups named
    /// rank, local_rank, step, host and job
    #[arg(long, value_name = "REGEX", value_parser = RankNames::parse)]
    rank_from: Option<RankNames>,
    /// Memory limit; data beyond it goes to temporary files
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "4GiB")]
    memory: Size,
    #[command(flatten)]
    show: Show,
}

const EXAMPLES: &str = "\
Examples:
  vramscope sql --tables
  vramscope sql 'select rank, max(live_bytes) peak_bytes from events group by rank order by 2 desc' runs/
  vramscope sql 'select call_site, sum(requested_bytes) bytes from allocations group by 1 order by 2 desc' rank*.pickle
  vramscope sql - runs/ --json < question.sql
  vramscope sql 'select * from events where rank = 17' runs/ --parquet rank17.parquet
  vramscope sql 'select sum(bytes) from events where rank = 17' runs/ --explain";

/// A query may begin with a comment, `-- why`. Without a space, it is an unknown option.
fn query(text: &str) -> Result<String, String> {
    let is_option = text.len() > 1 && text.starts_with('-') && !text.contains(char::is_whitespace);
    match is_option {
        true => Err("this is neither an option nor a query".to_owned()),
        false => Ok(text.to_owned()),
    }
}

pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    match options.tables {
        true => tables::describe(options.show.json),
        false => ask(options),
    }
}

#[cfg(feature = "sql")]
use self::asked::run as ask;

#[cfg(not(feature = "sql"))]
fn ask(options: &Options) -> Result<(), Failure> {
    let sql = options.sql.as_deref().unwrap_or_default();
    // Ready to be pasted, or piped into a shell.
    output::print(&(elsewhere::in_duckdb(sql, &options.files) + "\n"))?;
    Err(Failure::Usage(
        "this build has no SQL engine (those of `cargo xtask dist --sql` have): the lines above have DuckDB answer the same, \
         which `pip install duckdb-cli` installs"
            .to_owned(),
    ))
}

#[cfg(test)]
mod tests {
    use super::query;

    #[test]
    fn a_query_may_begin_with_a_comment_but_not_as_an_option() {
        for text in ["select 1", "-- why\nselect 1", "-", "--why not"] {
            assert_eq!(query(text).as_deref(), Ok(text));
        }
        for text in ["--jsn", "-x"] {
            assert!(query(text).is_err(), "{text}");
        }
    }
}

//! Errors in words for the user: what is wrong, where in the SQL, and what to do.

use std::fmt;

use datafusion::common::utils::datafusion_strsim::normalized_levenshtein;
use datafusion::common::{Diagnostic, SchemaError};
use datafusion::error::DataFusionError;

/// How similar names must be to suggest one for the other: at 0.5 `translate` resembles `frobnicate`.
const ALIKE: f64 = 0.6;

const SUGGESTED: usize = 3;

/// The cause of an error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// The SQL is wrong.
    Sql,
    /// The query needs more memory than it may use.
    Memory,
    /// A file cannot be read, or is damaged.
    Files,
    /// The system, or the engine itself.
    Other,
}

impl Cause {
    pub(crate) fn of(error: &DataFusionError) -> Self {
        let mut found = Found::default();
        found.read(error);
        found.cause
    }
}

/// A position in the SQL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// Its line, from 1.
    pub line: u64,
    /// Its column in characters, from 1.
    pub column: u64,
}

/// A query that failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Error {
    /// The cause.
    pub cause: Cause,
    /// What is wrong.
    pub message: String,
    /// The position in the SQL, if known.
    pub place: Option<Place>,
    /// What to do.
    pub advice: Vec<String>,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl Error {
    /// The error for a message of DataFusion about this SQL.
    pub(crate) fn of(error: DataFusionError, sql: &str) -> Self {
        let mut found = Found::default();
        found.read(&error);
        let Found {
            diagnostic,
            message,
            cause,
            mut advice,
        } = found;
        let span = diagnostic.as_ref().and_then(|it| it.span);
        let place = span.map(|span| Place {
            line: span.start.line,
            column: span.start.column,
        });
        let (message, place) = match place {
            Some(place) => (message, Some(place)),
            None => place_in(&message),
        };
        for note in diagnostic.iter().flat_map(|it| &it.notes) {
            advice.push(plain(&note.message));
        }
        for help in diagnostic.iter().flat_map(|it| &it.helps) {
            advice.push(plain(&help.message));
        }
        advice.dedup();
        Self {
            cause,
            message: plain(&message),
            place: place.filter(|place| is_in(*place, sql)),
            advice,
        }
    }

    /// Whether it is about a table that does not exist.
    pub(crate) fn is_unknown_table(&self) -> bool {
        self.message.starts_with("there is no table ")
    }

    /// Adds suggestions: those of `names` that resemble the unknown one, or else all.
    pub(crate) fn suggest(&mut self, what: &str, names: &[String]) {
        let unknown = self.message.rsplit(' ').next().unwrap_or_default();
        let alike = alike(unknown, names.iter().map(String::as_str));
        let all = || format!("The {what} are: {}", names.join(", "));
        self.advice = vec![meant(&alike).unwrap_or_else(all)];
    }
}

/// What to do about a number beyond 64 bits.
const WIDER: &str =
    "Compute with `cast(a as double)`, which rounds, or with `cast(a as decimal(38, 0))`.";

/// The information found in the layers of an error.
struct Found {
    diagnostic: Option<Diagnostic>,
    message: String,
    cause: Cause,
    advice: Vec<String>,
}

impl Default for Found {
    fn default() -> Self {
        Self {
            diagnostic: None,
            message: String::new(),
            cause: Cause::Other,
            advice: Vec::new(),
        }
    }
}

impl Found {
    /// Reads an error from its outermost layer to the innermost, which has the actual reason.
    fn read(&mut self, error: &DataFusionError) {
        match error {
            DataFusionError::Diagnostic(diagnostic, inner) => {
                self.diagnostic = Some(diagnostic.as_ref().clone());
                self.read(inner);
            }
            DataFusionError::Context(_, inner) => self.read(inner),
            DataFusionError::Shared(inner) => self.read(inner),
            DataFusionError::Collection(errors) => {
                if let Some(first) = errors.first() {
                    self.read(first);
                }
            }
            DataFusionError::SchemaError(error, _) => self.unknown(error),
            DataFusionError::Plan(text) => self.plan(text),
            DataFusionError::SQL(error, _) => self.sql(error.to_string()),
            DataFusionError::NotImplemented(text) => {
                self.sql(format!("this is not supported: {text}"));
            }
            DataFusionError::Execution(text) | DataFusionError::Configuration(text) => {
                self.sql(text.clone());
            }
            DataFusionError::ArrowError(error, _) => self.arrow(&error.to_string()),
            // A damaged file that the engine did not expect, or a value too large for it.
            DataFusionError::ExecutionJoin(error) if error.is_panic() => {
                self.set(
                    Cause::Files,
                    format!("the engine cannot answer this: {error}"),
                );
            }
            DataFusionError::ResourcesExhausted(text) => self.set(Cause::Memory, text.clone()),
            DataFusionError::ParquetError(error) => self.set(Cause::Files, error.to_string()),
            DataFusionError::ObjectStore(error) => self.set(Cause::Files, error.to_string()),
            error => self.set(Cause::Other, error.to_string()),
        }
    }

    /// Reads an error about a value.
    fn arrow(&mut self, text: &str) {
        // Results that `exact` casts back, and decimals beyond 38 digits.
        let of = [
            "out of range Int64",
            "out of range UInt64",
            "Overflow happened",
        ];
        if of.iter().any(|of| text.contains(of)) {
            self.advice.push(WIDER.to_owned());
            return self.sql("a number is larger than 64 bits hold".to_owned());
        }
        self.sql(text.to_owned());
    }

    /// Reads an error in planning a query.
    fn plan(&mut self, text: &str) {
        if text.starts_with("No SQL statements") {
            let advice =
                "Write one, as `select * from ranks`; `vramscope sql --tables` says what there is.";
            self.advice.push(advice.to_owned());
            return self.sql("there is no query".to_owned());
        }
        if let Some(name) = unknown_table(text) {
            return self.sql(format!("there is no table {name}"));
        }
        if let Some((name, other)) = unknown_function(text) {
            // The suggestion may be the least dissimilar of functions that are all dissimilar.
            let suggested = alike(name, other.into_iter());
            self.advice.extend(meant(&suggested));
            if let Some(diagnostic) = &mut self.diagnostic {
                diagnostic.notes.clear();
            }
            return self.sql(format!("there is no function {name}"));
        }
        self.sql(match text.split_once(" not supported: ") {
            Some(("DDL" | "DML" | "Statement", what)) => {
                format!("SQL can only read here, and this would change or write something ({what})")
            }
            _ => text.to_owned(),
        });
    }

    fn sql(&mut self, message: String) {
        self.set(Cause::Sql, message);
    }

    fn set(&mut self, cause: Cause, message: String) {
        self.cause = cause;
        self.message = message;
    }

    fn unknown(&mut self, error: &SchemaError) {
        let SchemaError::FieldNotFound {
            field,
            valid_fields,
        } = error
        else {
            return self.sql(error.to_string());
        };
        self.sql(format!("there is no column {}", field.name));
        // Its notes list the names that are suggested here, with their tables.
        if let Some(diagnostic) = &mut self.diagnostic {
            diagnostic.notes.clear();
        }
        let names = || valid_fields.iter().map(|column| column.name.as_str());
        let alike = alike(&field.name, names());
        self.advice.push(match alike.as_slice() {
            [] => format!(
                "The columns are: {}",
                names().collect::<Vec<_>>().join(", ")
            ),
            alike => format!("Did you mean {}?", alike.join(" or ")),
        });
    }
}

/// The names most similar to another one, most similar first.
fn alike<'a>(unknown: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut alike: Vec<(f64, &str)> = names
        .map(|name| (normalized_levenshtein(unknown, name), name))
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .collect();
    alike.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    let mut names: Vec<_> = alike.into_iter().map(|(_, name)| name).collect();
    names.dedup();
    names.truncate(SUGGESTED);
    names
}

/// Asks whether one of these names was meant.
fn meant(names: &[&str]) -> Option<String> {
    (!names.is_empty()).then(|| format!("Did you mean {}?", names.join(" or ")))
}

/// The name of a function that DataFusion did not find, and its suggestion: `Invalid function 'x'. … 'y'?`.
fn unknown_function(text: &str) -> Option<(&str, Option<&str>)> {
    let (name, rest) = text.strip_prefix("Invalid function '")?.split_once('\'')?;
    Some((name, rest.split('\'').nth(1)))
}

/// The name of a table that DataFusion did not find: `table 'datafusion.public.x' not found`; or of a schema before its
/// name, which no table here has.
fn unknown_table(text: &str) -> Option<&str> {
    if let Some(schema) = text.strip_prefix("failed to resolve schema: ") {
        return Some(schema);
    }
    let name = text.strip_prefix("table '")?;
    let (name, _) = name.split_once("' not found")?;
    Some(name.rsplit('.').next().unwrap_or(name))
}

/// The parser appends positions to its messages: `… at Line: 1, Column: 8`.
fn place_in(message: &str) -> (String, Option<Place>) {
    let place = || {
        let (text, place) = message.rsplit_once(" at Line: ")?;
        let (line, column) = place.split_once(", Column: ")?;
        let digits = column.trim_end_matches(|c: char| !c.is_ascii_digit());
        let place = Place {
            line: line.parse().ok()?,
            column: digits.parse().ok()?,
        };
        Some((text.to_owned(), place))
    };
    match place() {
        Some((text, place)) => (text, Some(place)),
        None => (message.to_owned(), None),
    }
}

/// Whether the SQL has this position.
fn is_in(place: Place, sql: &str) -> bool {
    let lines = sql.lines().count() as u64;
    (1..=lines).contains(&place.line) && place.column >= 1
}

/// A message on one line, without DataFusion's names for kinds of errors and its requests to report them.
fn plain(text: &str) -> String {
    let text = text.split("\n\nbacktrace").next().unwrap_or_default();
    let text = text.trim_start_matches("sql parser error: ");
    let text = text.trim_start_matches("Error during planning: ");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

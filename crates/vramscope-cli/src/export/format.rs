//! The formats, their file extensions, and their compression.

use std::ffi::OsStr;
use std::io::Write;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Arg, Command};
use vramscope_core::Snapshot;
use vramscope_core::encode::{encode, encode_json};
use vramscope_core::tables::Table;
use vramscope_core::vram_format;

use super::{Asked, csv, failed, folded, parquet, perfetto, pprof, speedscope};
use crate::failure::Failure;
use crate::subject::Subject;

/// A format that a snapshot can be written in.
pub(crate) struct Format {
    /// The name for `--to`.
    pub(crate) name: &'static str,
    /// File extensions, without the dot; new files get the first.
    pub(crate) endings: &'static [&'static str],
    /// Whether it may be printed to a terminal.
    pub(crate) is_text: bool,
    /// Whether its readers accept any compression. If not, only `packing` is possible, since the format compresses its
    /// content itself.
    may_pack: bool,
    /// The compression that its readers expect.
    packing: Option<Packing>,
    pub(crate) content: Content,
}

/// How a format is written.
pub(crate) enum Content {
    /// From the snapshot alone.
    Snapshot(fn(&Snapshot, &mut dyn Write) -> Result<(), Failure>),
    /// From the analyses of the requested devices, [`Subject::devices`].
    Analysed(fn(&Subject, &Asked, &mut dyn Write) -> Result<(), Failure>),
    /// Tables: one as a file, or all in a folder.
    Tables(fn(&Subject, Table, &mut dyn Write) -> Result<(), Failure>),
}

/// All formats, torch's own first.
pub(crate) const FORMATS: &[Format] = &[
    Format {
        name: "pickle",
        endings: &["pickle", "pkl"],
        is_text: false,
        may_pack: true,
        packing: None,
        content: Content::Snapshot(|snapshot, out| encode(snapshot, out).map_err(failed)),
    },
    Format {
        name: "json",
        endings: &["json"],
        is_text: true,
        may_pack: true,
        packing: None,
        content: Content::Snapshot(|snapshot, out| encode_json(snapshot, out).map_err(failed)),
    },
    Format {
        name: "packed",
        endings: &["vram"],
        is_text: false,
        may_pack: false,
        packing: Some(Packing::Zstd),
        content: Content::Snapshot(|snapshot, out| {
            vram_format::write(snapshot, out).map_err(failed)
        }),
    },
    Format {
        name: "perfetto",
        endings: &["perfetto.json", "trace.json"],
        is_text: true,
        may_pack: true,
        packing: None,
        content: Content::Analysed(perfetto::write),
    },
    Format {
        name: "speedscope",
        endings: &["speedscope.json"],
        is_text: true,
        may_pack: true,
        packing: None,
        content: Content::Analysed(speedscope::write),
    },
    Format {
        name: "pprof",
        endings: &["pb", "pprof"],
        is_text: false,
        may_pack: false,
        packing: Some(Packing::Gzip),
        content: Content::Analysed(pprof::write),
    },
    Format {
        name: "folded",
        endings: &["folded"],
        is_text: true,
        may_pack: true,
        packing: None,
        content: Content::Analysed(folded::write),
    },
    Format {
        name: "csv",
        endings: &["csv"],
        is_text: true,
        may_pack: true,
        packing: None,
        content: Content::Tables(csv::write),
    },
    Format {
        name: "parquet",
        endings: &["parquet"],
        is_text: false,
        may_pack: false,
        packing: None,
        content: Content::Tables(parquet::write),
    },
];

/// zstd's default level. For JSON the result is a fifth of gzip's size, in a third of the time.
const ZSTD_LEVEL: i32 = 3;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Packing {
    Gzip,
    Zstd,
}

impl Packing {
    const ALL: [Self; 2] = [Self::Gzip, Self::Zstd];

    /// The extension that it adds to file names, without the dot.
    pub(crate) fn ending(self) -> &'static str {
        match self {
            Self::Gzip => "gz",
            Self::Zstd => "zst",
        }
    }

    /// Splits `x.json.gz` into `x.json` and its compression.
    fn split(name: &str) -> (&str, Option<Self>) {
        let split = Self::ALL.into_iter().find_map(|packing| {
            let rest = name.strip_suffix(packing.ending())?.strip_suffix('.')?;
            Some((rest, Some(packing)))
        });
        split.unwrap_or((name, None))
    }
}

/// A format and a compression.
#[derive(Clone, Copy)]
pub(crate) struct Choice {
    pub(crate) format: &'static Format,
    pub(crate) packing: Option<Packing>,
}

impl Choice {
    /// The format that torch writes.
    pub(crate) const PICKLE: Self = Self {
        format: &FORMATS[0],
        packing: None,
    };

    /// Combines `--to` with the compression implied by the output's name.
    ///
    /// # Errors
    /// When the two contradict each other, or the format does not allow the compression.
    pub(crate) fn named(self, output: &str) -> Result<Self, Failure> {
        let by_name = Packing::split(&output.to_ascii_lowercase()).1;
        let says_how = by_name.is_some()
            || (Self::of_name(output).is_some() && self.packing != self.format.packing);
        if let Some(packing) = self.packing
            && by_name != self.packing
            && says_how
        {
            return Err(Failure::Usage(format!(
                "{output} does not end in .{}, as --to requires",
                packing.ending()
            )));
        }
        let chosen = Self {
            packing: self.packing.or(by_name).or(self.format.packing),
            ..self
        };
        match chosen.packing {
            Some(packing) if !self.format.may_pack && chosen.packing != self.format.packing => {
                Err(Failure::Usage(format!(
                    "{} is compressed inside, and nothing reads it compressed again: drop .{}",
                    self.format.name,
                    packing.ending()
                )))
            }
            _ => Ok(chosen),
        }
    }

    /// The format implied by a file name; [`Self::named`] decides the compression.
    pub(crate) fn of_name(output: &str) -> Option<Self> {
        let output = output.to_ascii_lowercase();
        let name = Packing::split(&output).0;
        let ending_of = |format: &'static Format| {
            let fits = |ending: &&&str| {
                name.strip_suffix(**ending)
                    .is_some_and(|rest| rest.ends_with('.'))
            };
            format
                .endings
                .iter()
                .filter(fits)
                .map(|ending| ending.len())
                .max()
        };
        // The longest match, as one extension may be the end of another.
        let format = FORMATS
            .iter()
            .filter(|format| ending_of(format).is_some())
            .max_by_key(|format| ending_of(format))?;
        Some(Self {
            format,
            packing: None,
        })
    }

    /// The output's name for an input: the input's name with this format's extension.
    pub(crate) fn name_for(self, input: &str, table: Option<Table>) -> String {
        let stem = stem(input);
        match (&self.format.content, table) {
            (Content::Tables(_), None) => stem.to_owned(),
            (Content::Tables(_), Some(table)) => format!("{stem}.{}", self.table_file(table)),
            _ => self.with_ending(stem),
        }
    }

    /// The file name of a table in a folder of tables.
    pub(crate) fn table_file(self, table: Table) -> String {
        self.with_ending(table.name())
    }

    fn with_ending(self, stem: &str) -> String {
        let packing = self.packing.map(|packing| format!(".{}", packing.ending()));
        let ending = self.format.endings[0];
        format!("{stem}.{ending}{}", packing.unwrap_or_default())
    }

    /// Compresses the bytes that `write` writes.
    pub(crate) fn pack(
        self,
        out: &mut dyn Write,
        write: impl FnOnce(&mut dyn Write) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        match self.packing {
            None => write(out),
            Some(Packing::Gzip) => {
                let mut packer = flate2::write::GzEncoder::new(out, flate2::Compression::default());
                write(&mut packer)?;
                packer.finish().map(drop).map_err(failed)
            }
            Some(Packing::Zstd) => {
                let mut packer = zstd::Encoder::new(out, ZSTD_LEVEL).map_err(failed)?;
                packer.include_checksum(true).map_err(failed)?;
                write(&mut packer)?;
                packer.finish().map(drop).map_err(failed)
            }
        }
    }
}

/// A file's name without the extensions of snapshots and compressions.
fn stem(name: &str) -> &str {
    const SNAPSHOTS: [&str; 9] = [
        ".zip", ".vram", ".pickle", ".pkl", ".json", ".html", ".gz", ".zst", ".zstd",
    ];
    let mut stem = name;
    // `x.pickle.gz` has two extensions; further dots belong to the user's name.
    for _ in 0..2 {
        let shorter = SNAPSHOTS
            .iter()
            .find_map(|ending| stem.strip_suffix(ending));
        stem = shorter.filter(|stem| !stem.is_empty()).unwrap_or(stem);
    }
    stem
}

/// Parses `--to`: a format's name, optionally with `.gz` or `.zst`.
#[derive(Clone)]
pub(crate) struct ChoiceParser;

impl TypedValueParser for ChoiceParser {
    type Value = Choice;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<Choice, clap::Error> {
        let text = value.to_string_lossy();
        let (name, packing) = Packing::split(&text);
        let is_named = |format: &&Format| format.name == name;
        match FORMATS.iter().find(is_named) {
            Some(format) => Ok(Choice { format, packing }),
            None => {
                // clap's own parser writes the message with the possible values.
                let names = PossibleValuesParser::new(FORMATS.iter().map(|format| format.name));
                names
                    .parse_ref(command, argument, value)
                    .map(|_| Choice::PICKLE)
            }
        }
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(
            FORMATS.iter().map(|format| PossibleValue::new(format.name)),
        ))
    }
}

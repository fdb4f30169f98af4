//! Which formats there are, what their files are called, and how they are compressed.

use std::ffi::OsStr;
use std::io::Write;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Arg, Command};
use vramscope_core::Snapshot;
use vramscope_core::encode::{encode, encode_json};
use vramscope_core::pack::pack;
use vramscope_core::tables::Table;

use super::tables::Source;
use super::{Asked, csv, failed, folded, parquet, perfetto, pprof, speedscope};
use crate::failure::Failure;
use crate::subject::Subject;

/// What a snapshot can be written as.
pub(crate) struct Format {
    /// As in `--to`.
    pub(crate) name: &'static str,
    /// What the names of its files may end in, without the dot; the first is given to new files.
    pub(crate) endings: &'static [&'static str],
    /// Whether a terminal can show it.
    pub(crate) is_text: bool,
    /// Whether its readers read it compressed in any way; else as `packing` says only, as it is compressed inside.
    may_pack: bool,
    /// How its readers expect it to be compressed.
    packing: Option<Packing>,
    pub(crate) content: Content,
}

/// How a format is written.
pub(crate) enum Content {
    /// From the snapshot alone.
    Snapshot(fn(&Snapshot, &mut dyn Write) -> Result<(), Failure>),
    /// From what is worked out about the devices that were asked for, [`Subject::devices`].
    Analysed(fn(&Subject, &Asked, &mut dyn Write) -> Result<(), Failure>),
    /// Tables: a file of one, or all in a folder.
    Tables(fn(&Source<'_>, Table, &mut dyn Write) -> Result<(), Failure>),
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
        content: Content::Snapshot(|snapshot, out| pack(snapshot, out).map_err(failed)),
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

/// zstd's own default: of JSON it makes a fifth of what gzip does, in a third of the time.
const ZSTD_LEVEL: i32 = 3;

/// How a file is compressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Packing {
    Gzip,
    Zstd,
}

impl Packing {
    const ALL: [Self; 2] = [Self::Gzip, Self::Zstd];

    /// What the names of its files end in, without the dot.
    pub(crate) fn ending(self) -> &'static str {
        match self {
            Self::Gzip => "gz",
            Self::Zstd => "zst",
        }
    }

    /// Splits `x.json.gz` into `x.json` and how that is packed.
    fn split(name: &str) -> (&str, Option<Self>) {
        let split = Self::ALL.into_iter().find_map(|packing| {
            let rest = name.strip_suffix(packing.ending())?.strip_suffix('.')?;
            Some((rest, Some(packing)))
        });
        split.unwrap_or((name, None))
    }
}

/// A format and how its file is compressed.
#[derive(Clone, Copy)]
pub(crate) struct Choice {
    pub(crate) format: &'static Format,
    pub(crate) packing: Option<Packing>,
}

impl Choice {
    /// What torch writes.
    pub(crate) const PICKLE: Self = Self {
        format: &FORMATS[0],
        packing: None,
    };

    /// As `--to` says, packed as the name of the file to write says.
    ///
    /// # Errors
    /// When these contradict each other, or the format cannot be packed so.
    pub(crate) fn named(self, output: &str) -> Result<Self, Failure> {
        let by_name = Packing::split(&output.to_ascii_lowercase()).1;
        let says_how = by_name.is_some()
            || (Self::of_name(output).is_some() && self.packing != self.format.packing);
        if let Some(packing) = self.packing
            && by_name != self.packing
            && says_how
        {
            return Err(Failure::Usage(format!(
                "{output} does not end in .{}, as --to asks for",
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

    /// The format that the name of the file to write says; how it is packed is for [`Self::named`] to say.
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
        // The longest, as one format's ending may end in another's.
        let format = FORMATS
            .iter()
            .filter(|format| ending_of(format).is_some())
            .max_by_key(|format| ending_of(format))?;
        Some(Self {
            format,
            packing: None,
        })
    }

    /// The name of the file, or folder, that is made of another: its own, less what says how it is written.
    pub(crate) fn name_for(self, input: &str, table: Option<Table>) -> String {
        let stem = stem(input);
        match (&self.format.content, table) {
            (Content::Tables(_), None) => stem.to_owned(),
            (Content::Tables(_), Some(table)) => format!("{stem}.{}", self.table_file(table)),
            _ => self.with_ending(stem),
        }
    }

    /// The name of a table's file in a folder of all.
    pub(crate) fn table_file(self, table: Table) -> String {
        self.with_ending(table.name())
    }

    fn with_ending(self, stem: &str) -> String {
        let packing = self.packing.map(|packing| format!(".{}", packing.ending()));
        let ending = self.format.endings[0];
        format!("{stem}.{ending}{}", packing.unwrap_or_default())
    }

    /// Writes what `write` writes, compressed.
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

/// A file's name without what says that it is a snapshot and how it is packed.
fn stem(name: &str) -> &str {
    const SNAPSHOTS: [&str; 9] = [
        ".zip", ".vram", ".pickle", ".pkl", ".json", ".html", ".gz", ".zst", ".zstd",
    ];
    let mut stem = name;
    // `x.pickle.gz`, and no more: what else a name has dots for is the user's.
    for _ in 0..2 {
        let shorter = SNAPSHOTS
            .iter()
            .find_map(|ending| stem.strip_suffix(ending));
        stem = shorter.filter(|stem| !stem.is_empty()).unwrap_or(stem);
    }
    stem
}

/// For the argument `--to`: names of formats, which `.gz` and `.zst` may follow.
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
                // Refuses it, and says what there is.
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

//! `vramscope convert`: a snapshot in another format. `cut` and `anonymise` write through the same code.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use vramscope_core::Snapshot;
use vramscope_core::anonymise::{Anonymiser, Pattern, anonymise};
use vramscope_core::cut::{Piece, cut};
use vramscope_core::model::Source;
use vramscope_core::tables::Table;

use crate::arguments::Inputs;
use crate::destination::{self, Destination, UnfinishedFolder};
use crate::export::bounded::Bounded;
use crate::export::format::{Choice, ChoiceParser, Content, FORMATS};
use crate::export::{Asked, table_named};
use crate::failure::Failure;
use crate::input::{self, display_name, is_stdin};
use crate::inputs;
use crate::subject::{Device, Subject};

/// Write a snapshot in another format
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    #[command(flatten)]
    files: Files,
    /// Only this range: A..B, or an annotation's name; A and B are events (1000), times (2.5s), peak, oom, annotations
    #[arg(long, value_name = "A..B")]
    range: Option<String>,
    /// Replace names by hashes, as `vramscope anonymise` does
    #[arg(long, visible_alias = "anonymize")]
    anonymise: bool,
    /// The text from which the hashes are made; by default they are new each time
    #[arg(long, value_name = "TEXT", requires = "anonymise")]
    salt: Option<String>,
    /// Keep names that match, as `vramscope anonymise` does
    #[arg(long, value_name = "PATTERN", requires = "anonymise")]
    keep: Vec<String>,
    #[command(flatten)]
    asked: Asked,
}

const EXAMPLES: &str = "\
Examples:
  vramscope convert snapshot.pickle -o snapshot.json
  vramscope convert snapshot.html -o snapshot.pickle.zst
  vramscope convert snapshot.pickle --to json | jq '.segments | length'
  vramscope convert rank*.pickle --to json.gz -o converted/
  vramscope convert snapshot.pickle -o allocations.parquet
  vramscope convert snapshot.pickle --to parquet -o tables/
  vramscope convert snapshot.pickle -o run.perfetto.json
  vramscope convert snapshot.pickle --to speedscope --at 'step[3]' -o step3.speedscope.json

The file to write is complete or not there at all; an earlier one of its name is replaced only then.";

/// The files to read, and the place and format to write.
#[derive(Args)]
pub(super) struct Files {
    #[command(flatten)]
    inputs: Inputs,
    /// The file to write; for many files a folder; `-` (or none) is standard output
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// Format to write, if it does not follow from the extension of OUT; .gz or .zst after it compresses
    #[arg(long, value_name = "FORMAT", value_parser = ChoiceParser)]
    to: Option<Choice>,
}

pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let range = options.range.as_deref();
    let change = if options.anonymise {
        Change::anonymous(range, options.salt.as_deref(), &options.keep)?
    } else {
        Change::cut(range)
    };
    options.files.write(None, &change, &options.asked)
}

/// The changes made to a snapshot before it is written.
pub(super) struct Change<'a> {
    /// The range to keep.
    range: Option<&'a str>,
    /// Replaces names by hashes.
    anonymiser: Option<Anonymiser>,
}

impl<'a> Change<'a> {
    pub(super) fn cut(range: Option<&'a str>) -> Self {
        Self {
            range,
            anonymiser: None,
        }
    }

    /// Replaces names by hashes with a key made from `salt`, or with a random one, except names that match `keep`.
    ///
    /// # Errors
    /// When the salt is empty, or the system has no random numbers.
    pub(super) fn anonymous(
        range: Option<&'a str>,
        salt: Option<&str>,
        keep: &[String],
    ) -> Result<Self, Failure> {
        let anonymiser = match salt {
            Some("") => {
                let text = "--salt is empty, which anybody can guess: is a variable not set? Without --salt, \
                            names are hashed under a key that nobody knows";
                return Err(Failure::Usage(text.to_owned()));
            }
            Some(salt) => Anonymiser::salted(salt),
            None => {
                let mut key = [0; 32];
                getrandom::fill(&mut key).map_err(|error| {
                    Failure::io("the system gives no random numbers")(error.into())
                })?;
                Anonymiser::new(key)
            }
        };
        let keep = keep.iter().map(|text| Pattern::from(text.as_str()));
        Ok(Self {
            range,
            anonymiser: Some(anonymiser.keeping(keep.collect())),
        })
    }

    /// The name under which a file is converted.
    fn name(&self, file: &Path) -> String {
        match &self.anonymiser {
            Some(_) => "snapshot".to_owned(),
            None => display_name(file),
        }
    }
}

struct Task<'a> {
    choice: Choice,
    change: &'a Change<'a>,
    asked: &'a Asked,
    /// The only table to write.
    table: Option<Table>,
}

impl Files {
    /// Writes every file. A file that fails is reported, and the others are written.
    ///
    /// # Errors
    /// When format or output is missing, or a file fails.
    pub(super) fn write(
        &self,
        default: Option<Choice>,
        change: &Change<'_>,
        asked: &Asked,
    ) -> Result<(), Failure> {
        let files = inputs::files(&self.inputs.files)?;
        let choice = self.choice(default)?;
        asked.check(choice.format)?;
        let table = self.table(choice, asked)?;
        let destinations = self.destinations(&files, choice, table)?;
        destination::check(&destinations, &files)?;
        let task = Task {
            choice,
            change,
            asked,
            table,
        };
        let write = |place: usize, file: &Path| self.one(file, &destinations[place], &task);
        inputs::each(&files, self.inputs.memory, write, |results| {
            inputs::report_all(results.filter_map(Result::err))
        })
    }

    fn choice(&self, default: Option<Choice>) -> Result<Choice, Failure> {
        let output = self.output.as_deref().unwrap_or(Path::new("-"));
        let name = output.file_name().unwrap_or_default().to_string_lossy();
        let chosen = self.to.or(Choice::of_name(&name)).or(default);
        let chosen = chosen.ok_or_else(|| {
            let names: Vec<_> = FORMATS.iter().map(|format| format.name).collect();
            let names = names.join(", ");
            let cause = match name.as_ref() {
                "-" => "no output format is given".to_owned(),
                _ if is_folder(output) => {
                    format!(
                        "{}: a folder's name does not imply a format",
                        output.display()
                    )
                }
                name => format!("{name}: no format has this extension"),
            };
            Failure::Usage(format!("{cause}; add --to with one of {names}"))
        })?;
        // A folder's name says nothing about the format of the files in it.
        chosen.named(if is_folder(output) { "" } else { &name })
    }

    /// The only table to write: the one that the user names, or else the one that the output's name implies.
    fn table(&self, choice: Choice, asked: &Asked) -> Result<Option<Table>, Failure> {
        if !matches!(choice.format.content, Content::Tables(_)) || asked.table.is_some() {
            return Ok(asked.table);
        }
        let Some(output) = self.output.as_deref().filter(|output| !is_stdin(output)) else {
            return Ok(None);
        };
        let name = output.file_name().unwrap_or_default().to_string_lossy();
        let Some(of_name) = Choice::of_name(&name) else {
            return Ok(None);
        };
        let stem = name.split('.').next().unwrap_or_default();
        let table = table_named(stem).filter(|_| !output.is_dir());
        if table.is_none() && of_name.format.name == choice.format.name && !output.is_dir() {
            let names = Table::ALL.map(Table::name).join(", ");
            return Err(Failure::Usage(format!(
                "{name} could be any of several tables; say which with --table, or name a folder with --to {} \
                 -o FOLDER/ for all: {names}",
                choice.format.name
            )));
        }
        Ok(table)
    }

    /// The destination of each file.
    fn destinations(
        &self,
        files: &[PathBuf],
        choice: Choice,
        table: Option<Table>,
    ) -> Result<Vec<Destination>, Failure> {
        let output = match &self.output {
            Some(output) if !is_stdin(output) => output,
            _ if files.len() > 1 => {
                let text = "many files need a folder to be written to: add -o FOLDER/";
                return Err(Failure::Usage(text.to_owned()));
            }
            _ => return Ok(vec![Destination::Stdout]),
        };
        let is_tables = matches!(choice.format.content, Content::Tables(_)) && table.is_none();
        if files.len() == 1 && (is_tables || !is_folder(output)) {
            return Ok(vec![Destination::Path(output.clone())]);
        }
        destination::create_folder(output)?;
        let mut destinations: Vec<Destination> = Vec::new();
        for file in files {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            let path = output.join(choice.name_for(&name, table));
            let destination = Destination::Path(path);
            if destinations.contains(&destination) {
                return Err(Failure::Usage(format!(
                    "{}: another file of this name would be written to the same place",
                    file.display()
                )));
            }
            destinations.push(destination);
        }
        Ok(destinations)
    }

    fn one(&self, file: &Path, destination: &Destination, task: &Task<'_>) -> Result<(), Failure> {
        let Task { choice, change, .. } = *task;
        let mut snapshot = input::read(file)?;
        let source = snapshot.source.clone();
        // Exports of analyses cover the chosen devices; a snapshot covers all devices.
        let is_whole =
            self.inputs.device.is_none() || !matches!(choice.format.content, Content::Snapshot(_));
        if change.range.is_some() || !is_whole {
            let subject = Subject::of(display_name(file), snapshot, self.inputs.device)?;
            snapshot = cut_out(&subject, change.range)?;
        }
        if let Some(anonymiser) = &change.anonymiser {
            snapshot = anonymise(&snapshot, anonymiser);
        }
        let name = change.name(file);
        match choice.format.content {
            Content::Snapshot(write) => {
                write_file(destination, choice, &source, |out| write(&snapshot, out))
            }
            Content::Analysed(write) => {
                let subject = Subject::of(name, snapshot, self.inputs.device)?;
                write_file(destination, choice, &source, |out| {
                    write(&subject, task.asked, out)
                })
            }
            Content::Tables(write) => {
                let subject = Subject::of(name, snapshot, self.inputs.device)?;
                match task.table {
                    Some(table) => write_file(destination, choice, &source, |out| {
                        write(&subject, table, out)
                    }),
                    None => write_tables(destination, choice, &source, |table, out| {
                        write(&subject, table, out)
                    }),
                }
            }
        }
    }
}

fn is_folder(output: &Path) -> bool {
    output.is_dir() || output.to_string_lossy().ends_with('/')
}

/// Writes one file, compressed.
fn write_file(
    destination: &Destination,
    choice: Choice,
    source: &Source,
    write: impl FnOnce(&mut dyn Write) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let is_text = choice.format.is_text && choice.packing.is_none();
    destination.write(is_text, |out| {
        choice.pack(out, |out| write(&mut Bounded::new(out, source)))
    })
}

/// Writes all tables into a folder.
fn write_tables(
    destination: &Destination,
    choice: Choice,
    source: &Source,
    write: impl Fn(Table, &mut dyn Write) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let Destination::Path(path) = destination else {
        let text =
            "these are several tables; name a folder with -o FOLDER/, or one table with --table";
        return Err(Failure::Usage(text.to_owned()));
    };
    let mut folder = UnfinishedFolder::create(path)?;
    for table in Table::ALL {
        folder.write(&choice.table_file(table), |out| {
            choice.pack(out, |out| write(table, &mut Bounded::new(out, source)))
        })?;
    }
    folder.finish();
    Ok(())
}

/// Cuts the range out, for the requested devices.
fn cut_out(subject: &Subject, range: Option<&str>) -> Result<Snapshot, Failure> {
    let devices: Vec<_> = subject.devices().collect();
    let moments =
        |device: &Device<'_>| range.map_or(Ok((0, u32::MAX)), |range| device.range(range));
    // If there are several devices, those without the range are left out.
    let has_any = devices.iter().any(|device| moments(device).is_ok());
    let pieces: Result<Vec<_>, Failure> = devices
        .iter()
        .filter(|device| !has_any || moments(device).is_ok())
        .map(|device| {
            Ok(Piece {
                device: **device,
                moments: moments(device)?,
            })
        })
        .collect();
    Ok(cut(subject, &pieces?))
}

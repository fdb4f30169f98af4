//! Packs one snapshot.

use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use vramscope_core::Snapshot;
use vramscope_core::analysis::recording::{Device, Recording};
use vramscope_core::fleet::stack_keys::StackKeys;
use vramscope_core::fleet::{Detail, Fleet, Unreadable, encode};
use vramscope_core::model::Source;
use vramscope_core::tables::dataset::{Content, DatasetTable};
use vramscope_core::tables::fleet::for_each_keyed_stack;
use vramscope_core::tables::{Value, for_each_piece};

use super::dataset::{Dataset, Spot};
use super::plan::Item;
use crate::destination;
use crate::export::bounded::Bounded;
use crate::export::parquet::{Column, TableFile};
use crate::failure::Failure;
use crate::input::{decode, open_file, regular_bytes};
use crate::output::unwritten;
use crate::temporary::PassingFolder;

/// The name of a piece while it is being written.
pub(super) const PIECE: &str = "piece";

/// A snapshot that was packed.
pub(super) struct Packed {
    pub(super) source_bytes: u64,
    pub(super) unpacked_bytes: u64,
    pub(super) events: u64,
    /// Total size of the files written.
    pub(super) bytes: u64,
}

/// What went wrong.
pub(super) enum Failed {
    /// The snapshot cannot be read; the dataset records why.
    Read(Failure),
    /// The dataset cannot be written.
    Write(Failure),
}

/// Packs a snapshot into its place, or records why it cannot be read. `old` are the places of its earlier versions.
pub(super) fn pack(dataset: &Dataset, item: &Item, old: &[&Spot]) -> Result<Packed, Failed> {
    let read = read(&item.path).and_then(|snapshot| summed_up(item, snapshot));
    match read {
        Ok((recording, fleet)) => {
            write(dataset, item, old, (&recording, &fleet)).map_err(Failed::Write)
        }
        Err(failure) => {
            unread(dataset, item, old, &failure).map_err(Failed::Write)?;
            Err(Failed::Read(failure))
        }
    }
}

fn read(path: &Path) -> Result<Snapshot, Failure> {
    let file = open_file(path)?;
    let bytes = regular_bytes(&file);
    let name = path.display().to_string();
    decode(&name, file, bytes, &mut |_| ControlFlow::Continue(()))
}

/// The snapshot's ranks. A snapshot without any could not be distinguished from one that is not packed.
fn summed_up(item: &Item, snapshot: Snapshot) -> Result<(Recording, Fleet), Failure> {
    let recording = Recording::of(snapshot);
    let fleet = Fleet::of(&item.place, &item.source, recording.devices(), Detail::All);
    match fleet.ranks.is_empty() {
        false => Ok((recording, fleet)),
        true => Err(Failure::Input(format!(
            "{}: nothing happened on any device",
            item.path.display()
        ))),
    }
}

/// Records that a snapshot cannot be read. Earlier information is about another version of the file.
fn unread(dataset: &Dataset, item: &Item, old: &[&Spot], failure: &Failure) -> Result<(), Failure> {
    let fleet = Fleet {
        unreadable: vec![Unreadable {
            source: item.source.clone(),
            why: failure.why(),
        }],
        ..Fleet::default()
    };
    let mut files = Files::new(dataset, item, Spot::of_unreadable(&item.source))?;
    files.piece(&fleet)?;
    files.hand_out(old)
}

fn write(
    dataset: &Dataset,
    item: &Item,
    old: &[&Spot],
    (recording, fleet): (&Recording, &Fleet),
) -> Result<Packed, Failure> {
    let snapshot = &recording.snapshot;
    let keys = StackKeys::of(snapshot);
    let devices: Vec<Device<'_>> = recording.devices().collect();
    let mut files = Files::new(dataset, item, item.spot())?;
    for table in DatasetTable::ALL {
        let columns = table.columns().into_iter();
        let columns = columns.map(|(field, content)| match content {
            Content::Snapshot => Column::same(field, &item.source.path),
            Content::Value => Column::of(field),
            Content::StackKey => Column::keys(field, &keys),
            Content::LeftOut => Column::left_out(field),
        });
        files.table(table.name(), columns.collect(), &snapshot.source, |file| {
            let push = &mut |values: &[Value<'_>]| file.push(values);
            match table {
                DatasetTable::Snapshot(table) => {
                    for_each_piece(table, recording, &devices, &mut |piece| file.take(piece))
                }
                DatasetTable::Stacks => for_each_keyed_stack(recording, &keys, push),
                DatasetTable::Fleet(table) => table.for_each_row(fleet, push),
            }
        })?;
    }
    files.piece(fleet)?;
    let packed = Packed {
        source_bytes: item.source.bytes,
        unpacked_bytes: snapshot.source.decoded_bytes,
        events: fleet.ranks.iter().map(|rank| rank.events).sum(),
        bytes: files.bytes,
    };
    files.hand_out(old)?;
    Ok(packed)
}

/// A snapshot's files while they are being written: in a folder that is deleted with them, unless all are complete.
struct Files<'a> {
    dataset: &'a Dataset,
    spot: Spot,
    folder: PassingFolder,
    /// The lock on the folder, while that exists.
    _lock: File,
    /// Names in that folder, and the final paths. The piece is last.
    names: Vec<(PathBuf, PathBuf)>,
    bytes: u64,
}

impl<'a> Files<'a> {
    fn new(dataset: &'a Dataset, item: &Item, spot: Spot) -> Result<Self, Failure> {
        let what = format!("{}\n{}", spot.name(), item.source.path);
        let (folder, lock) = dataset.packing(&what)?;
        Ok(Self {
            dataset,
            spot,
            folder,
            _lock: lock,
            names: Vec::new(),
            bytes: 0,
        })
    }

    /// Writes a table.
    fn table(
        &mut self,
        name: &str,
        columns: Vec<Column<'_>>,
        source: &Source,
        rows: impl FnOnce(&mut TableFile<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let path = PathBuf::from(name);
        let place = self.folder.as_ref().join(&path);
        let written = || {
            let mut out = BufWriter::new(File::create(&place).map_err(unwritten)?);
            let mut bounded = Bounded::new(&mut out, source);
            let mut file = TableFile::create(name, columns, None, &mut bounded)?;
            rows(&mut file)?;
            file.finish()?;
            out.flush().map_err(unwritten)
        };
        // Table writers do not know the path.
        let shown = Path::new(self.dataset.shown());
        written().map_err(|failure| destination::named(shown, failure))?;
        self.add(path, self.dataset.table(name, &self.spot))
    }

    fn piece(&mut self, fleet: &Fleet) -> Result<(), Failure> {
        let path = PathBuf::from(PIECE);
        let written = fs::write(self.folder.as_ref().join(&path), encode(fleet));
        written.map_err(self.dataset.unwritten())?;
        self.add(path, self.dataset.piece_path(&self.spot))
    }

    fn add(&mut self, path: PathBuf, place: PathBuf) -> Result<(), Failure> {
        let metadata = fs::metadata(self.folder.as_ref().join(&path));
        self.bytes += metadata.map_err(self.dataset.unwritten())?.len();
        self.names.push((path, place));
        Ok(())
    }

    /// Moves the files to their final paths, and removes what was at `old` places.
    fn hand_out(self, old: &[&Spot]) -> Result<(), Failure> {
        // Nothing counts until the new piece is there. Anything already at this place is of the same file.
        let first = || {
            let mut old = old.iter().filter(|spot| **spot != &self.spot);
            old.try_for_each(|spot| self.dataset.remove_files(spot))?;
            self.dataset.make_folders(&self.spot)
        };
        let done = self.folder.hand_out(first, &self.names);
        done.map_err(self.dataset.unwritten())
    }
}

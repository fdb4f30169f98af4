//! The folder of a dataset: what is where in it.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::{
    fs::{self, File},
    io,
};

use parquet::file::reader::SerializedFileReader;
use vramscope_core::Limits;
use vramscope_core::fleet::{Fleet, Place, Source, decode, encode};
use vramscope_core::tables::dataset::DatasetTable;

use super::plan::Item;
use crate::failure::Failure;
use crate::inputs::{FORMAT_FILE, OVERVIEW};
use crate::temporary::{self, PassingFolder};

/// The version of the layout. Another one is not written into.
const FORMAT: &str = "vramscope dataset 1\n";

const PIECES: &str = "pieces";
const CLAIMS: &str = ".claims";

/// The beginning of the names of folders for what is being packed.
const PACKING: &str = ".packing-";

/// The folder of pieces that say why a snapshot could not be read.
const UNREADABLE: &str = "unreadable";

/// Call sites of a rank in the overview, on average: a thousand ranks take less than 2 MB.
const OVERVIEW_SITES: usize = 200;

/// A dataset.
pub(super) struct Dataset {
    /// Canonical.
    folder: PathBuf,
    /// The folder from which it tells where snapshots are; canonical.
    base: PathBuf,
    shown: String,
}

/// The place of a snapshot in all tables: `rank=17/part`. With leading zeros engines would take it for text, or look for
/// ranks where they are not.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Spot {
    folder: String,
    stem: String,
}

impl Spot {
    /// That of the only snapshot of a rank and step.
    pub(super) fn of_place(place: &Place) -> Self {
        let stem = place
            .step
            .map_or_else(|| "part".to_owned(), |step| format!("step-{step:06}"));
        Self {
            folder: rank_folder(place.rank),
            stem,
        }
    }

    /// That of one of several.
    pub(super) fn of_path(rank: u32, path: &str) -> Self {
        Self {
            folder: rank_folder(rank),
            stem: stem_of_path(path),
        }
    }

    /// That of the piece for a snapshot that could not be read.
    pub(super) fn of_unreadable(path: &str) -> Self {
        Self {
            folder: UNREADABLE.to_owned(),
            stem: stem_of_path(path),
        }
    }

    /// As one name.
    pub(super) fn name(&self) -> String {
        format!("{}.{}", self.folder, self.stem)
    }
}

fn rank_folder(rank: u32) -> String {
    format!("rank={rank}")
}

fn stem_of_path(path: &str) -> String {
    format!("part-{}", &blake3::hash(path.as_bytes()).to_hex()[..8])
}

/// What is known of a snapshot that is in the dataset.
pub(super) struct Piece {
    pub(super) spot: Spot,
    fleet: Fleet,
}

impl Piece {
    pub(super) fn source(&self) -> &Source {
        const NONE: &Source = &Source {
            path: String::new(),
            bytes: 0,
            modified_us: None,
        };
        let ranks = self.fleet.ranks.iter().map(|rank| &rank.source);
        let unreadable = self.fleet.unreadable.iter().map(|it| &it.source);
        ranks.chain(unreadable).next().unwrap_or(NONE)
    }

    /// Its snapshot's place; `None` if that could not be read.
    pub(super) fn place(&self) -> Option<&Place> {
        self.fleet.ranks.first().map(|rank| &rank.place)
    }

    pub(super) fn is_unreadable(&self) -> bool {
        self.fleet.ranks.is_empty()
    }

    /// Whether it is of this snapshot as it is now.
    pub(super) fn is_of(&self, item: &Item) -> bool {
        let is_there = |place: &Place| *place == item.place;
        *self.source() == item.source && self.place().is_none_or(is_there)
    }
}

impl Dataset {
    /// Opens the folder, or makes it. Nothing is written into it before [`Self::begin`].
    ///
    /// # Errors
    /// When it cannot be made, or holds something else.
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        let shown = path.display().to_string();
        let failed = || Failure::io(format!("cannot make the folder {shown}"));
        temporary::create_folder(path).map_err(failed())?;
        let folder = fs::canonicalize(path).map_err(failed())?;
        let base = folder.parent().unwrap_or(&folder).to_owned();
        let dataset = Self {
            folder,
            base,
            shown,
        };
        dataset.must_be_ours()?;
        Ok(dataset)
    }

    /// Opens an empty folder that nobody else knows. Snapshots are told from where the user is.
    ///
    /// # Errors
    /// When it cannot be written, or nobody is anywhere.
    #[cfg(feature = "sql")]
    pub(super) fn open_passing(path: &Path) -> Result<Self, Failure> {
        let here = std::env::current_dir().and_then(fs::canonicalize);
        Ok(Self {
            base: here.map_err(Failure::io("cannot find the current folder"))?,
            ..Self::open(path)?
        })
    }

    fn must_be_ours(&self) -> Result<(), Failure> {
        let path = self.folder.join(FORMAT_FILE);
        match fs::read_to_string(&path) {
            // Another process may be about to write it.
            Ok(text) if text == FORMAT || text.is_empty() => return Ok(()),
            Ok(_) => {
                return Err(Failure::Usage(format!(
                    "{} was packed by another version of vramscope, or is something else: name another folder",
                    self.shown
                )));
            }
            Err(_) => {}
        }
        let has_others = names(&self.folder)
            .iter()
            .any(|name| !name.starts_with('.'));
        match has_others && !path.exists() {
            true => Err(Failure::Usage(format!(
                "{} has other files: name a new folder, or one that `vramscope fleet pack` made",
                self.shown
            ))),
            false => Ok(()),
        }
    }

    /// Makes the folder a dataset, if it is none.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn begin(&self) -> Result<(), Failure> {
        let path = self.folder.join(FORMAT_FILE);
        match fs::read_to_string(&path) {
            Ok(text) if text == FORMAT => Ok(()),
            _ => {
                let written = fs::write(&path, FORMAT);
                written.map_err(Failure::io(format!("cannot write into {}", self.shown)))
            }
        }
    }

    /// As the user named it.
    pub(super) fn shown(&self) -> &str {
        &self.shown
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The folder from which it tells where snapshots are: the one in which it is.
    pub(super) fn base(&self) -> &Path {
        &self.base
    }

    pub(super) fn claims(&self) -> PathBuf {
        self.folder.join(CLAIMS)
    }

    /// A folder for what is being packed.
    pub(super) fn packing(&self) -> Result<PassingFolder, Failure> {
        let made = PassingFolder::create_in(&self.folder, PACKING);
        made.map_err(Failure::io(format!("cannot write into {}", self.shown)))
    }

    /// The file of a table.
    pub(super) fn table(&self, table: &str, spot: &Spot) -> PathBuf {
        let name = format!("{}.parquet", spot.stem);
        self.folder.join(table).join(&spot.folder).join(name)
    }

    /// Whether all tables have a snapshot, in files that end as they must: none is missing or cut.
    pub(super) fn has_tables(&self, spot: &Spot) -> bool {
        DatasetTable::ALL.iter().all(|table| {
            let file = File::open(self.table(table.name(), spot));
            file.is_ok_and(|file| SerializedFileReader::new(file).is_ok())
        })
    }

    /// The file of a piece.
    pub(super) fn piece_path(&self, spot: &Spot) -> PathBuf {
        let name = format!("{}.vset", spot.stem);
        self.folder.join(PIECES).join(&spot.folder).join(name)
    }

    /// A piece; `None` if there is none, or none that can be read.
    pub(super) fn piece(&self, spot: &Spot) -> Option<Piece> {
        let bytes = fs::read(self.piece_path(spot)).ok()?;
        let fleet = decode(&bytes, &Limits::default()).ok()?;
        let spot = spot.clone();
        Some(Piece { spot, fleet })
    }

    /// All pieces that can be read: others are as none.
    fn pieces(&self) -> impl Iterator<Item = Piece> {
        let spots = self.spots().into_iter();
        spots.filter_map(|spot| self.piece(&spot))
    }

    /// The pieces by the paths of their snapshots.
    pub(super) fn known(&self) -> HashMap<String, Piece> {
        let pieces = self.pieces();
        pieces
            .map(|piece| (piece.source().path.clone(), piece))
            .collect()
    }

    /// The places of all pieces.
    fn spots(&self) -> Vec<Spot> {
        files(&self.folder.join(PIECES))
            .into_iter()
            .filter_map(|(folder, name)| {
                let stem = name.strip_suffix(".vset")?.to_owned();
                Some(Spot { folder, stem })
            })
            .collect()
    }

    /// Removes a snapshot.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub(super) fn remove(&self, spot: &Spot) -> Result<(), Failure> {
        let removed = temporary::as_a_whole(|| self.remove_files(spot));
        removed.map_err(Failure::io(format!(
            "cannot remove {} from {}",
            spot.name(),
            self.shown
        )))
    }

    /// Removes a snapshot's files: first its piece, so that it never counts with half of its tables. A signal may come
    /// between two of them.
    pub(super) fn remove_files(&self, spot: &Spot) -> io::Result<()> {
        remove_file(&self.piece_path(spot))?;
        let mut tables = self.tables().into_iter();
        tables.try_for_each(|table| remove_file(&self.table(&table, spot)))
    }

    /// The names of the folders of tables.
    fn tables(&self) -> Vec<String> {
        let is_table = |name: &String| {
            !name.starts_with('.') && name != PIECES && self.folder.join(name).is_dir()
        };
        names(&self.folder).into_iter().filter(is_table).collect()
    }

    /// Writes the overview of all pieces, and returns it. Of several processes that finish at once, the last one to write
    /// has all pieces: whoever sees others after writing writes again.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn write_overview(&self) -> Result<Fleet, Failure> {
        let failed = || Failure::io(format!("cannot write {}/{OVERVIEW}", self.shown));
        loop {
            let seen = self.state();
            let fleets = self.pieces().map(|piece| piece.fleet);
            let mut fleet = Fleet::of_all(fleets);
            fleet.keep_sites(OVERVIEW_SITES);
            let folder = self.packing()?;
            fs::write(folder.as_ref().join(OVERVIEW), encode(&fleet)).map_err(failed())?;
            let place = (PathBuf::from(OVERVIEW), self.folder.join(OVERVIEW));
            folder.hand_out(|| Ok(()), &[place]).map_err(failed())?;
            if self.state() == seen {
                return Ok(fleet);
            }
        }
    }

    /// The pieces as they are now, without reading them.
    fn state(&self) -> Vec<(PathBuf, Option<std::time::SystemTime>)> {
        let paths = self.spots().into_iter().map(|spot| self.piece_path(&spot));
        let mut state: Vec<_> = paths
            .map(|path| {
                let modified = fs::metadata(&path).and_then(|metadata| metadata.modified());
                (path, modified.ok())
            })
            .collect();
        state.sort();
        state
    }

    /// Removes what processes left that were killed: unfinished folders, their claims, tables without a piece. And folders of
    /// ranks in which nothing is left. Nothing is removed if another process packs.
    pub(super) fn sweep(&self, are_alone: impl Fn() -> bool) {
        // What is listed before belongs to nobody who lives, if nobody does then. What was finished meanwhile has a piece.
        let tables = self.tables().into_iter();
        let tables = tables.map(|table| self.folder.join(table));
        let tables: Vec<_> = tables.map(|folder| (files(&folder), folder)).collect();
        let is_packing = |name: &String| name.starts_with(PACKING);
        let unfinished: Vec<_> = names(&self.folder).into_iter().filter(is_packing).collect();
        let claims = names(&self.claims());
        if !are_alone() {
            return;
        }
        let spots = self.spots().into_iter();
        let whole: HashSet<_> = spots
            .map(|spot| (spot.folder, format!("{}.parquet", spot.stem)))
            .collect();
        for (files, folder) in tables {
            for (rank, name) in files.into_iter().filter(|file| !whole.contains(file)) {
                drop(fs::remove_file(folder.join(rank).join(name)));
            }
            remove_empty(&folder);
        }
        remove_empty(&self.folder.join(PIECES));
        for name in unfinished {
            drop(fs::remove_dir_all(self.folder.join(name)));
        }
        for name in claims {
            drop(fs::remove_file(self.claims().join(name)));
        }
    }
}

/// Removes the folders in a folder that are empty.
fn remove_empty(folder: &Path) {
    for name in names(folder) {
        // It fails where something is inside.
        drop(fs::remove_dir(folder.join(name)));
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.collect()
}

/// The files in the folders of a folder, with the folders' names.
fn files(folder: &Path) -> Vec<(String, String)> {
    let folders = names(folder).into_iter();
    let files = folders.flat_map(|inner| {
        let files = names(&folder.join(&inner));
        files.into_iter().map(move |name| (inner.clone(), name))
    });
    files.collect()
}

/// Removes a file, if it is there.
pub(super) fn remove_file(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

//! The layout of a dataset's folder.
//!
//! Other files in the folder are not ours: they are never removed, and links are not followed.

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use parquet::file::reader::SerializedFileReader;
use vramscope_core::Limits;
use vramscope_core::fleet::{Fleet, Place, Source, decode, encode};
use vramscope_core::tables::dataset::DatasetTable;

use super::plan::Item;
use crate::failure::Failure;
use crate::guarded::{self, FORMAT_FILE, OVERVIEW, OVERVIEW_BYTES, is_real_file, is_real_folder};
use crate::temporary::{self, PassingFolder};

/// The layout's version. A folder with another version is not written to.
const FORMAT: &str = "vramscope dataset 1\n";

const PIECES: &str = "pieces";

/// Prefix of the folders for snapshots that are being packed.
const PACKING: &str = ".packing-";

/// Number of random characters after the prefix, as in `tempfile`.
const RANDOM: usize = 6;

/// The file in such a folder that is locked while its process lives, and says what is packed there.
const LOCK: &str = "lock";

/// Maximum size in bytes of such a file that can be ours.
const LOCK_BYTES: u64 = 64 << 10;

/// The folder of pieces that say why a snapshot could not be read.
const UNREADABLE: &str = "unreadable";

/// Average number of call sites per rank in the overview: a thousand ranks take less than 2 MB.
const OVERVIEW_SITES: usize = 200;

pub(super) struct Dataset {
    /// Canonical.
    folder: PathBuf,
    /// The folder to which snapshots' paths are relative; canonical.
    base: PathBuf,
    shown: String,
}

/// A snapshot's place in all tables: `rank=17/part-0123456789abcdef`. Engines would read a rank with leading zeros as
/// text, or expect ranks elsewhere.
///
/// The digits identify the version of the file. If another file or version is packed meanwhile, it goes elsewhere, so
/// no place has tables of two.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Spot {
    folder: String,
    stem: String,
}

impl Spot {
    /// The place of a snapshot.
    pub(super) fn of(place: &Place, source: &Source) -> Self {
        let stem = match place.step {
            None => "part".to_owned(),
            Some(step) => format!("step-{step:06}"),
        };
        Self {
            folder: format!("rank={}", place.rank),
            stem: format!("{stem}-{}", digits(source)),
        }
    }

    /// The place of the piece for a snapshot that could not be read.
    pub(super) fn of_unreadable(source: &Source) -> Self {
        Self {
            folder: UNREADABLE.to_owned(),
            stem: format!("part-{}", digits(source)),
        }
    }

    /// Parses a [`Self::name`], if it could be ours.
    fn named(name: &str) -> Option<Self> {
        let (folder, stem) = name.split_once('/')?;
        let is_plain = |it: char| it.is_ascii_alphanumeric() || it == '-';
        (is_ours(folder) && !stem.is_empty() && stem.chars().all(is_plain)).then(|| Self {
            folder: folder.to_owned(),
            stem: stem.to_owned(),
        })
    }

    /// As a path with `/`.
    pub(super) fn name(&self) -> String {
        format!("{}/{}", self.folder, self.stem)
    }
}

/// Whether a folder inside a table's folder may have this name.
fn is_ours(folder: &str) -> bool {
    let rank = folder.strip_prefix("rank=");
    folder == UNREADABLE || rank.is_some_and(|rank| rank.parse::<u32>().is_ok())
}

fn digits(source: &Source) -> String {
    let version = format!("{:?}", (&source.path, source.bytes, source.modified_us));
    blake3::hash(version.as_bytes()).to_hex()[..16].to_owned()
}

/// What is known about a snapshot in the dataset.
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

    /// The snapshot's rank; `None` if it could not be read.
    pub(super) fn place(&self) -> Option<&Place> {
        self.fleet.ranks.first().map(|rank| &rank.place)
    }

    pub(super) fn is_unreadable(&self) -> bool {
        self.fleet.ranks.is_empty()
    }

    /// Whether it describes this snapshot in its current version.
    pub(super) fn is_of(&self, item: &Item) -> bool {
        let is_there = |place: &Place| *place == item.place;
        *self.source() == item.source && self.place().is_none_or(is_there)
    }
}

impl Dataset {
    /// Opens the folder, or creates it. Nothing is written before something is packed.
    ///
    /// # Errors
    /// When it cannot be created, or holds something else.
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

    /// Opens an empty folder that nobody else uses. Snapshots' paths are relative to the user's folder.
    ///
    /// # Errors
    /// When it cannot be written, or there is no current folder.
    #[cfg(feature = "sql")]
    pub(super) fn open_passing(path: &Path) -> Result<Self, Failure> {
        let here = std::env::current_dir().and_then(fs::canonicalize);
        Ok(Self {
            base: here.map_err(Failure::io("cannot find the current folder"))?,
            ..Self::open(path)?
        })
    }

    fn must_be_ours(&self) -> Result<(), Failure> {
        let folders = tables().chain([PIECES]);
        let folders = folders.map(|name| (name, is_real_folder as fn(&Path) -> bool));
        let files = [FORMAT_FILE, OVERVIEW].map(|name| (name, is_real_file as fn(&Path) -> bool));
        for (name, is_right) in folders.chain(files) {
            let path = self.folder.join(name);
            if fs::symlink_metadata(&path).is_ok() && !is_right(&path) {
                return Err(Failure::Usage(format!(
                    "{} has a {name} that no dataset has, such as a link: name another folder",
                    self.shown
                )));
            }
        }
        let format = self.folder.join(FORMAT_FILE);
        match guarded::read(&format, FORMAT.len() as u64) {
            // Another process may be about to write it.
            Ok(text) if text == FORMAT.as_bytes() || text.is_empty() => Ok(()),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let is_hidden = |name: &String| name.starts_with('.');
                // Another process may have written it since.
                match names(&self.folder).iter().all(is_hidden) || format.exists() {
                    true => Ok(()),
                    false => Err(Failure::Usage(format!(
                        "{} has other files: name a new folder, or one that `vramscope fleet pack` made",
                        self.shown
                    ))),
                }
            }
            _ => Err(Failure::Usage(format!(
                "{} was packed by another version of vramscope, or is something else: name another folder",
                self.shown
            ))),
        }
    }

    /// Names of files in the folder that are neither hidden nor part of the dataset.
    pub(super) fn others(&self) -> Vec<String> {
        let ours: HashSet<_> = tables().chain([PIECES, FORMAT_FILE, OVERVIEW]).collect();
        let mut names = names(&self.folder);
        names.retain(|name| !name.starts_with('.') && !ours.contains(&**name));
        names.sort();
        names
    }

    /// Makes the folder a dataset if it is not one yet.
    ///
    /// # Errors
    /// When it cannot be written.
    fn begin(&self) -> Result<(), Failure> {
        let path = self.folder.join(FORMAT_FILE);
        match fs::metadata(&path).is_ok_and(|it| it.len() > 0) {
            true => Ok(()),
            false => fs::write(&path, FORMAT).map_err(self.unwritten()),
        }
    }

    /// Removes the overview, which no longer matches the pieces.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub(super) fn remove_overview(&self) -> Result<(), Failure> {
        remove_file(&self.folder.join(OVERVIEW)).map_err(self.unwritten())
    }

    /// Wraps a write error.
    pub(super) fn unwritten(&self) -> impl FnOnce(io::Error) -> Failure {
        Failure::io(format!("cannot write into {}", self.shown))
    }

    /// The folder as named by the user.
    pub(super) fn shown(&self) -> &str {
        &self.shown
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The folder to which snapshots' paths are relative: the dataset's parent.
    pub(super) fn base(&self) -> &Path {
        &self.base
    }

    /// A folder for what is being packed, and its lock. `what`: a place and the path of its snapshot, a line each, or
    /// the overview.
    pub(super) fn packing(&self, what: &str) -> Result<(PassingFolder, File), Failure> {
        self.begin()?;
        let made = || -> io::Result<_> {
            let folder = PassingFolder::create_in(&self.folder, PACKING)?;
            let path = folder.as_ref().join(LOCK);
            let mut file = File::create_new(&path)?;
            file.write_all(what.as_bytes())?;
            match file.try_lock() {
                Ok(()) if path.exists() => Ok((folder, file)),
                // Without locks, no process is taken for dead.
                Err(TryLockError::Error(_)) => Ok((folder, file)),
                // Another process took it for a dead one's before it was locked.
                _ => Err(ErrorKind::WouldBlock.into()),
            }
        };
        let again = |_: io::Error| made();
        let made = made().or_else(again).or_else(again);
        made.map_err(self.unwritten())
    }

    /// The file of a table.
    pub(super) fn table(&self, table: &str, spot: &Spot) -> PathBuf {
        let name = format!("{}.parquet", spot.stem);
        self.folder.join(table).join(&spot.folder).join(name)
    }

    /// Whether all tables have the snapshot, in files that end as they must: none is missing or truncated.
    pub(super) fn has_tables(&self, spot: &Spot) -> bool {
        DatasetTable::ALL.iter().all(|table| {
            let file = guarded::open(&self.table(table.name(), spot));
            file.is_ok_and(|file| SerializedFileReader::new(file).is_ok())
        })
    }

    /// The file of a piece.
    pub(super) fn piece_path(&self, spot: &Spot) -> PathBuf {
        let name = format!("{}.vset", spot.stem);
        self.folder.join(PIECES).join(&spot.folder).join(name)
    }

    /// A piece; `None` if it does not exist or cannot be read.
    fn piece(&self, spot: Spot) -> Option<Piece> {
        let path = self.piece_path(&spot);
        let bytes = is_real_file(&path).then(|| guarded::read(&path, OVERVIEW_BYTES))?;
        let fleet = decode(&bytes.ok()?, &Limits::default()).ok()?;
        Some(Piece { spot, fleet })
    }

    /// The readable pieces, by the paths of their snapshots. A snapshot has one, except while processes write different
    /// versions of it.
    pub(super) fn known(&self) -> Known {
        let mut known = Known::new();
        for piece in self.spots().into_iter().filter_map(|spot| self.piece(spot)) {
            let path = piece.source().path.clone();
            known.entry(path).or_default().push(piece);
        }
        known
    }

    /// The places of all pieces.
    fn spots(&self) -> Vec<Spot> {
        let pieces = self.folder.join(PIECES);
        let mut folders = names(&pieces);
        folders.retain(|name| is_ours(name) && is_real_folder(&pieces.join(name)));
        let spots = folders.into_iter().flat_map(|folder| {
            let names = names(&pieces.join(&folder)).into_iter();
            names.filter_map(move |name| {
                let stem = name.strip_suffix(".vset")?.to_owned();
                let folder = folder.clone();
                Some(Spot { folder, stem })
            })
        });
        spots.collect()
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

    /// Removes a snapshot's files: its piece first, so that it never counts with half of its tables, since a signal may
    /// arrive in between. A rank's folders are removed when they are empty.
    pub(super) fn remove_files(&self, spot: &Spot) -> io::Result<()> {
        let files = tables().map(|table| self.table(table, spot));
        for file in [self.piece_path(spot)].into_iter().chain(files) {
            let folder = file.parent().filter(|folder| is_real_folder(folder));
            if let Some(folder) = folder {
                remove_file(&file)?;
                // Fails unless the folder is empty.
                drop(fs::remove_dir(folder));
            }
        }
        Ok(())
    }

    /// Creates the missing folders of a snapshot.
    ///
    /// # Errors
    /// When one cannot be created, or is something else.
    pub(super) fn make_folders(&self, spot: &Spot) -> io::Result<()> {
        for table in tables().chain([PIECES]) {
            let table = self.folder.join(table);
            for folder in [&table, &table.join(&spot.folder)] {
                match fs::create_dir(folder) {
                    Err(error) if !is_real_folder(folder) => {
                        let why = format!("{}: {error}", folder.display());
                        return Err(io::Error::new(error.kind(), why));
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Writes the overview of all pieces, and returns it. First removes what is in the way: earlier versions of
    /// snapshots, and leftovers of killed processes that were packing such paths.
    ///
    /// # Errors
    /// When something cannot be removed or written.
    pub(super) fn finish(
        &self,
        known: &Known,
        has_path: impl Fn(&str) -> bool,
    ) -> Result<Fleet, Failure> {
        for pieces in known.values() {
            let latest = pieces.iter().map(|piece| piece.source().modified_us).max();
            let is_earlier = |piece: &&Piece| Some(piece.source().modified_us) != latest;
            let mut earlier = pieces.iter().filter(is_earlier);
            earlier.try_for_each(|piece| self.remove(&piece.spot))?;
        }
        self.sweep(has_path);
        self.write_overview()
    }

    /// Writes the overview of all pieces, and returns it. If several processes finish at once, the last writer has all
    /// pieces: a process that finds new ones after writing writes again.
    ///
    /// # Errors
    /// When it cannot be written.
    fn write_overview(&self) -> Result<Fleet, Failure> {
        let failed = || Failure::io(format!("cannot write {}/{OVERVIEW}", self.shown));
        loop {
            let seen = self.state();
            let mut fleet = fleet(self.known());
            fleet.keep_sites(OVERVIEW_SITES);
            let (folder, _lock) = self.packing(OVERVIEW)?;
            fs::write(folder.as_ref().join(OVERVIEW), encode(&fleet)).map_err(failed())?;
            let place = (PathBuf::from(OVERVIEW), self.folder.join(OVERVIEW));
            folder.hand_out(|| Ok(()), &[place]).map_err(failed())?;
            if self.state() == seen {
                return Ok(fleet);
            }
        }
    }

    /// The pieces as they are now, without reading them.
    fn state(&self) -> Vec<(PathBuf, Option<SystemTime>)> {
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

    /// Removes leftovers of killed processes, identified by their lock files. Files of a living process are never
    /// removed.
    fn sweep(&self, has_path: impl Fn(&str) -> bool) {
        let mut left = names(&self.folder);
        left.retain(|name| {
            name.strip_prefix(PACKING)
                .is_some_and(|it| it.len() == RANDOM)
        });
        for folder in left.into_iter().map(|name| self.folder.join(name)) {
            // A leftover that cannot be removed does no harm.
            drop(self.sweep_one(&folder, &has_path));
        }
    }

    fn sweep_one(&self, folder: &Path, has_path: impl Fn(&str) -> bool) -> io::Result<()> {
        let path = folder.join(LOCK);
        if !is_real_folder(folder) {
            return Ok(());
        }
        if !is_real_file(&path) {
            // Fails unless the folder is empty.
            return fs::remove_dir(folder);
        }
        // On some file systems only writable files can be locked.
        let lock = File::options().read(true).write(true).open(&path)?;
        lock.try_lock()?;
        let what = guarded::read(&path, LOCK_BYTES)?;
        let what = String::from_utf8_lossy(&what);
        // The process may have been killed before writing it.
        if !what.is_empty() && what != OVERVIEW {
            let told = what.split_once('\n');
            let told = told.filter(|(_, source)| has_path(source));
            let spot = told.and_then(|(spot, _)| Spot::named(spot));
            let spot = spot.ok_or(ErrorKind::InvalidData)?;
            if !is_real_file(&self.piece_path(&spot)) {
                self.remove_files(&spot)?;
            }
        }
        for name in tables().chain([super::snapshot::PIECE, OVERVIEW, LOCK]) {
            remove_file(&folder.join(name))?;
        }
        fs::remove_dir(folder)
    }
}

/// A fleet of all pieces.
pub(super) fn fleet(known: Known) -> Fleet {
    let pieces = known.into_values().flatten();
    Fleet::of_all(pieces.map(|piece| piece.fleet))
}

/// The pieces of a dataset, by the paths of their snapshots.
pub(super) type Known = BTreeMap<String, Vec<Piece>>;

/// The names of the tables.
fn tables() -> impl Iterator<Item = &'static str> {
    DatasetTable::ALL.iter().map(|table| table.name())
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.collect()
}

/// Removes a file, if it exists.
pub(super) fn remove_file(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

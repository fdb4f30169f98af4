//! The folder of a dataset: what is where in it.
//!
//! What lies in it beside is not ours: nothing of it is removed, and no link is followed.

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File};
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

/// The version of the layout. Another one is not written into.
const FORMAT: &str = "vramscope dataset 1\n";

const PIECES: &str = "pieces";

/// The beginning of the names of folders for what is being packed.
const PACKING: &str = ".packing-";

/// The file in such a folder that is locked while its process lives, and tells what is packed there.
const LOCK: &str = "lock";

/// The longest of these files that can be ours, in bytes.
const LOCK_BYTES: u64 = 64 << 10;

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

/// The place of a snapshot in all tables: `rank=17/part-0123456789abcdef`. Engines would take a rank with leading zeros
/// for text, or look for ranks where they are not.
///
/// The digits stand for the file as it was: where another one, or another version of it, is packed meanwhile, that goes
/// elsewhere, and no place has tables of two.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Spot {
    folder: String,
    stem: String,
}

impl Spot {
    /// That of a snapshot.
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

    /// That of the piece for a snapshot that could not be read.
    pub(super) fn of_unreadable(source: &Source) -> Self {
        Self {
            folder: UNREADABLE.to_owned(),
            stem: format!("part-{}", digits(source)),
        }
    }

    /// Reads a [`Self::name`]: one that could be ours.
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

/// Whether a folder in that of a table may have this name.
fn is_ours(folder: &str) -> bool {
    let rank = folder.strip_prefix("rank=");
    folder == UNREADABLE || rank.is_some_and(|rank| rank.parse::<u32>().is_ok())
}

fn digits(source: &Source) -> String {
    let version = format!("{:?}", (&source.path, source.bytes, source.modified_us));
    blake3::hash(version.as_bytes()).to_hex()[..16].to_owned()
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

    /// The names of what lies in the folder and is not of the dataset, but for what is hidden.
    pub(super) fn others(&self) -> Vec<String> {
        let ours: HashSet<_> = tables().chain([PIECES, FORMAT_FILE, OVERVIEW]).collect();
        let mut names = names(&self.folder);
        names.retain(|name| !name.starts_with('.') && !ours.contains(&**name));
        names.sort();
        names
    }

    /// Makes the folder a dataset, if it is none.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn begin(&self) -> Result<(), Failure> {
        let path = self.folder.join(FORMAT_FILE);
        match fs::metadata(&path).is_ok_and(|it| it.len() > 0) {
            true => Ok(()),
            false => fs::write(&path, FORMAT).map_err(self.unwritten()),
        }
    }

    /// Removes the overview: from now on it is not that of the pieces.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub(super) fn remove_overview(&self) -> Result<(), Failure> {
        remove_file(&self.folder.join(OVERVIEW)).map_err(self.unwritten())
    }

    /// Wraps an error of writing into it.
    pub(super) fn unwritten(&self) -> impl FnOnce(io::Error) -> Failure {
        Failure::io(format!("cannot write into {}", self.shown))
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

    /// A folder for what is being packed, and its lock. `what`: a place and the path of its snapshot in a line each, or the
    /// overview.
    pub(super) fn packing(&self, what: &str) -> Result<(PassingFolder, File), Failure> {
        let made = || -> io::Result<_> {
            let folder = PassingFolder::create_in(&self.folder, PACKING)?;
            // It has its name only when it is locked, so that no other process takes it for one of the dead.
            let [unlocked, lock] = ["unlocked", LOCK].map(|name| folder.as_ref().join(name));
            let mut file = File::create_new(&unlocked)?;
            file.write_all(what.as_bytes())?;
            // Where there are no locks, nothing is taken for dead.
            if file.try_lock().is_ok() {
                fs::rename(unlocked, lock)?;
            }
            Ok((folder, file))
        };
        made().map_err(self.unwritten())
    }

    /// The file of a table.
    pub(super) fn table(&self, table: &str, spot: &Spot) -> PathBuf {
        let name = format!("{}.parquet", spot.stem);
        self.folder.join(table).join(&spot.folder).join(name)
    }

    /// Whether all tables have a snapshot, in files that end as they must: none is missing or cut.
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

    /// A piece; `None` if there is none, or none that can be read.
    fn piece(&self, spot: Spot) -> Option<Piece> {
        let path = self.piece_path(&spot);
        let bytes = is_real_file(&path).then(|| guarded::read(&path, OVERVIEW_BYTES))?;
        let fleet = decode(&bytes.ok()?, &Limits::default()).ok()?;
        Some(Piece { spot, fleet })
    }

    /// The pieces that can be read, by the paths of their snapshots: others are as none. A snapshot has one, but while
    /// processes write different versions of it.
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

    /// Removes a snapshot's files: first its piece, so that it never counts with half of its tables. A signal may come
    /// between two of them. The folders of a rank go when nothing is left in them.
    pub(super) fn remove_files(&self, spot: &Spot) -> io::Result<()> {
        let files = tables().map(|table| self.table(table, spot));
        for file in [self.piece_path(spot)].into_iter().chain(files) {
            let folder = file.parent().filter(|folder| is_real_folder(folder));
            if let Some(folder) = folder {
                remove_file(&file)?;
                // It fails where something is inside.
                drop(fs::remove_dir(folder));
            }
        }
        Ok(())
    }

    /// Makes the folders of a snapshot, as far as they are missing.
    ///
    /// # Errors
    /// When one cannot be made, or is something else.
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

    /// Writes the overview of all pieces, and returns it. Removes what is in the way of it: earlier versions of snapshots, and
    /// what processes left that were killed while they packed snapshots of such paths.
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

    /// Writes the overview of all pieces, and returns it. Of several processes that finish at once, the last one to write
    /// has all pieces: whoever sees others after writing writes again.
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

    /// Removes what processes left that were killed, by what they wrote down before. Nothing of a process that lives is
    /// removed.
    fn sweep(&self, has_path: impl Fn(&str) -> bool) {
        let mut left = names(&self.folder);
        left.retain(|name| name.starts_with(PACKING));
        for folder in left.into_iter().map(|name| self.folder.join(name)) {
            // What cannot be removed stays, and harms nobody.
            drop(self.sweep_one(&folder, &has_path));
        }
    }

    fn sweep_one(&self, folder: &Path, has_path: impl Fn(&str) -> bool) -> io::Result<()> {
        let path = folder.join(LOCK);
        if !is_real_folder(folder) || !is_real_file(&path) {
            return Ok(());
        }
        // On some file systems only what can be written can be locked.
        let lock = File::options().read(true).write(true).open(&path)?;
        lock.try_lock()?;
        let what = guarded::read(&path, LOCK_BYTES)?;
        let what = String::from_utf8_lossy(&what);
        if what != OVERVIEW {
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

/// All that is known.
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

/// Removes a file, if it is there.
pub(super) fn remove_file(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

//! Which process packs what, when several pack into one folder: also on several machines, by a shared file system.
//!
//! A process takes a place of the dataset by a file that it creates, which only one can. Locks are not to be relied on
//! where files are on a network. A claim counts as long as its process lives: every process has a file of its own that it
//! touches again and again. On the same machine the system tells at once that it is gone. The times of both files come
//! from the file system, so that clocks need not agree.
//!
//! If a process that was only slow is taken for dead, two pack the same snapshot: each writes the same files, one after
//! the other, and nothing is lost.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime};

use tempfile::Builder;

use super::dataset::{Dataset, Spot};
use crate::failure::Failure;
use crate::temporary::PassingFile;

/// The time between two touches.
const BEAT: Duration = Duration::from_secs(5);

/// How long a process may be silent before it counts as dead.
const SILENCE: Duration = Duration::from_secs(60);

/// The beginning of the names of processes' files.
const PROCESS: &str = "process-";

/// What this process has claimed, and how to see what others have.
pub(super) struct Claims {
    folder: PathBuf,
    /// The file of this process, which is there until it is dropped.
    own: Option<PassingFile>,
    name: String,
    /// What its file holds.
    identity: String,
    /// Ends the touching when dropped.
    beats: Option<(mpsc::Sender<()>, JoinHandle<()>)>,
}

/// A place that this process has. It is free again when dropped.
pub(super) struct Claim {
    _file: PassingFile,
}

/// What came of claiming.
pub(super) enum Taken {
    Mine(Claim),
    /// Another process has it, for the same snapshot.
    Same,
    /// Another process has it, for another snapshot.
    Other,
}

impl Claims {
    /// Joins the processes that pack into a dataset.
    ///
    /// # Errors
    /// When the file of this process cannot be written.
    pub(super) fn join(dataset: &Dataset) -> Result<Self, Failure> {
        let failed = || Failure::io(format!("cannot write into {}", dataset.shown()));
        let folder = dataset.claims();
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(|error| failed()(error.into()))?;
        let name = format!("{PROCESS}{:016x}", u64::from_le_bytes(random));
        let path = folder.join(&name);
        let identity = identity();
        let create = || {
            fs::create_dir_all(&folder)?;
            PassingFile::create(path.clone(), &identity)
        };
        // The last process of others may remove the folder in between.
        let own = create().or_else(|_| create()).map_err(failed())?;
        let (stop, stopped) = mpsc::channel();
        let content = identity.clone();
        let beat = move || {
            while stopped.recv_timeout(BEAT) == Err(RecvTimeoutError::Timeout) {
                drop(touch(&path, &content));
            }
        };
        let thread = thread::Builder::new().spawn(beat);
        Ok(Self {
            folder,
            own: Some(own),
            name,
            identity,
            // Without a thread, other machines will take this process for dead after a while.
            beats: thread.ok().map(|thread| (stop, thread)),
        })
    }

    /// Claims a place for a snapshot.
    ///
    /// # Errors
    /// When a claim cannot be written.
    pub(super) fn take(&self, spot: &Spot, snapshot: &str) -> Result<Taken, Failure> {
        let mut number = self.newest(spot).map_or(1, |(number, _)| number);
        loop {
            let path = self.path(spot, number);
            let content = format!("{}\n{snapshot}", self.name);
            match PassingFile::create(path.clone(), &content) {
                Ok(file) => return Ok(Taken::Mine(Claim { _file: file })),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => {
                    return Err(Failure::io(format!("cannot write {}", path.display()))(
                        error,
                    ));
                }
            }
            let Some((owner, of)) = read(&path) else {
                // It was given up meanwhile, or is not written yet, or its process died before.
                match path.exists() {
                    true if !self.is_silent(&path) => return Ok(Taken::Same),
                    true => number += 1,
                    false => {}
                }
                continue;
            };
            match self.is_alive(&owner) {
                true if of == snapshot => return Ok(Taken::Same),
                true => return Ok(Taken::Other),
                // Of those who see that it is dead, one creates the next.
                false => number += 1,
            }
        }
    }

    /// Whether another process has a place for this snapshot.
    pub(super) fn is_held_for(&self, spot: &Spot, snapshot: &str) -> bool {
        let newest = self.newest(spot).and_then(|(_, path)| read(&path));
        newest.is_some_and(|(owner, of)| of == snapshot && self.is_alive(&owner))
    }

    /// Leaves the others. So the last one to leave sees that it is alone.
    pub(super) fn leave(&mut self) {
        if let Some((stop, thread)) = self.beats.take() {
            drop(stop);
            drop(thread.join());
        }
        drop(self.own.take());
    }

    /// Whether no other process packs into the dataset.
    pub(super) fn are_alone(&self) -> bool {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut others = names.filter(|name| name.starts_with(PROCESS) && *name != self.name);
        !others.any(|name| self.is_alive(&name))
    }

    /// The last claim to a place.
    fn newest(&self, spot: &Spot) -> Option<(u32, PathBuf)> {
        let numbers = (1..).map(|number| (number, self.path(spot, number)));
        numbers.take_while(|(_, path)| path.exists()).last()
    }

    fn path(&self, spot: &Spot, number: u32) -> PathBuf {
        self.folder.join(format!("{}.{number}", spot.name()))
    }

    fn is_alive(&self, process: &str) -> bool {
        if process == self.name {
            return true;
        }
        let path = self.folder.join(process);
        let Ok(of) = fs::read_to_string(&path) else {
            return false;
        };
        // One that was stopped and may never go on is silent as well.
        !has_ended(&of, &self.identity) && !self.is_silent(&path)
    }

    /// Whether a file was not touched for so long that its process must be dead. Also a process that has left can tell.
    fn is_silent(&self, path: &Path) -> bool {
        let now = || {
            let mut now = Builder::new().prefix(".now-").tempfile_in(&self.folder)?;
            now.write_all(b"now")?;
            now.as_file().metadata()?.modified()
        };
        match (now(), modified(path)) {
            (Ok(now), Ok(then)) => now.duration_since(then).unwrap_or_default() > SILENCE,
            _ => false,
        }
    }
}

impl Drop for Claims {
    fn drop(&mut self) {
        self.leave();
        // It fails where another process has a file.
        drop(fs::remove_dir(&self.folder));
    }
}

/// The machine with what numbers processes there, this process's number, and when it started: in a container the next
/// process may get the same number.
fn identity() -> String {
    let machine = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let [numbers, number] = ["/proc/self/ns/pid", "/proc/self"].map(|path| {
        let path = fs::read_link(path).unwrap_or_default();
        path.display().to_string()
    });
    let start = started(&number).unwrap_or_default();
    format!("{}{numbers} {number} {start}", machine.trim())
}

/// Whether the process of an identity is known to have ended, as only one of the same machine can be. `own`: that of this
/// process.
fn has_ended(identity: &str, own: &str) -> bool {
    let [its, own] = [identity, own].map(|text| text.split(' ').collect::<Vec<_>>());
    let ([there, number, start], [here, ..]) = (&its[..], &own[..]) else {
        return false;
    };
    // Systems may hide processes of other users, and then also the first.
    let is_known = there == here && !start.is_empty() && started("1").is_some();
    is_known && started(number).is_none_or(|now| now != *start)
}

/// When a process of this machine started, in the system's words; `None` if it has ended, whether or not its parent knows.
fn started(number: &str) -> Option<String> {
    let told = fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
    // Its name comes before, in parentheses, and may hold anything.
    let (_, rest) = told.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    let has_ended = matches!(fields.next()?, "Z" | "X");
    let start = fields.nth(18)?;
    (!has_ended).then(|| start.to_owned())
}

/// Writes what is there already.
fn touch(path: &Path, content: &str) -> io::Result<()> {
    let mut file = File::options().write(true).open(path)?;
    file.write_all(content.as_bytes())
}

fn modified(path: &Path) -> io::Result<SystemTime> {
    fs::metadata(path)?.modified()
}

/// The process and the snapshot of a claim; `None` if it is not there, or not written yet.
fn read(path: &Path) -> Option<(String, String)> {
    let text = fs::read_to_string(path).ok()?;
    let (owner, snapshot) = text.split_once('\n')?;
    Some((owner.to_owned(), snapshot.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use vramscope_core::fleet::Place;

    #[test]
    fn one_of_many_gets_a_place_and_a_dead_one_loses_it() {
        let folder = tempfile::tempdir().unwrap();
        let dataset = Dataset::open(&folder.path().join("x.vset")).unwrap();
        let spot = &Spot::of_place(&Place::default());
        let all: Vec<_> = (0..8).map(|_| Claims::join(&dataset).unwrap()).collect();
        let race = |snapshot: &str| -> Vec<Taken> {
            thread::scope(|scope| {
                let take = |claims| scope.spawn(move || Claims::take(claims, spot, snapshot));
                let threads: Vec<_> = all.iter().map(take).collect();
                threads
                    .into_iter()
                    .map(|it| it.join().unwrap().unwrap())
                    .collect()
            })
        };
        // A process that is gone, of this machine and of another one.
        for identity in [identity().replacen(' ', " 99999999", 1), String::new()] {
            let gone = format!("{PROCESS}gone");
            if !identity.is_empty() {
                fs::write(dataset.claims().join(&gone), identity).unwrap();
            }
            let content = format!("{gone}\na.pickle");
            let path = dataset.claims().join(format!("{}.1", spot.name()));
            fs::write(&path, content).unwrap();
            let taken = race("a.pickle");
            let is_mine = |taken: &&Taken| matches!(taken, Taken::Mine(_));
            assert_eq!(taken.iter().filter(is_mine).count(), 1);
            assert!(taken.iter().all(|it| !matches!(it, Taken::Other)));
            assert!(all[0].is_held_for(spot, "a.pickle"));
            assert!(matches!(all[0].take(spot, "b.pickle"), Ok(Taken::Other)));
            drop(taken);
            assert!(!all[0].is_held_for(spot, "a.pickle"));
            fs::remove_file(path).unwrap();
            drop(fs::remove_file(dataset.claims().join(gone)));
        }
        // One of this machine that is stopped for ever.
        let again = dataset.claims().join(format!("{PROCESS}again"));
        fs::write(&again, identity()).unwrap();
        assert!(all[0].is_alive(&format!("{PROCESS}again")));
        let long_ago = SystemTime::now() - 2 * SILENCE;
        let file = File::options().write(true).open(&again).unwrap();
        file.set_modified(long_ago).unwrap();
        assert!(!all[0].is_alive(&format!("{PROCESS}again")));
        // One whose number another process has now: this one.
        fs::write(&again, format!("{}0", identity())).unwrap();
        assert!(!all[0].is_alive(&format!("{PROCESS}again")));
        fs::remove_file(&again).unwrap();
        assert!(!all[0].are_alone());
        let mut all = all;
        all.truncate(1);
        assert!(all[0].are_alone());
        // One of another machine that was killed, also for the last one to leave.
        fs::write(&again, "another-machine 1 1").unwrap();
        all[0].leave();
        assert!(!all[0].are_alone());
        let file = File::options().write(true).open(&again).unwrap();
        file.set_modified(long_ago).unwrap();
        assert!(all[0].are_alone());
        fs::remove_file(again).unwrap();
        assert_eq!(fs::read_dir(dataset.claims()).unwrap().count(), 0);
    }

    /// Its parent may never ask for its exit code.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_killed_process_has_ended_before_its_parent_knows() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let number = child.id().to_string();
        let own = identity();
        let place = own.split(' ').next().unwrap();
        let its = format!("{place} {number} {}", started(&number).unwrap());
        assert!(!has_ended(&its, &own) && !has_ended(&own, &own));
        child.kill().unwrap();
        while !has_ended(&its, &own) {
            thread::sleep(Duration::from_millis(1));
        }
        assert!(Path::new("/proc").join(number).exists());
        child.wait().unwrap();
        assert!(has_ended(&its, &own));
        assert!(!has_ended(&its, "another-machine 1 1"));
    }
}

//! Asks recorded processes to write a file now. They answer even while their main thread waits for a device.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::session::RUN;

/// How long a process may take to write a file.
const PATIENCE: Duration = Duration::from_secs(600);

/// The processes to ask.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Whom {
    /// All recorded processes of this user.
    All,
    /// A process and those that it started.
    Process(u32),
}

/// A process's answer.
#[derive(Debug)]
pub struct Answer {
    pub process: u32,
    /// The file written; `None` if there was nothing to write; or why it could not be written.
    pub file: io::Result<Option<PathBuf>>,
}

/// Asks the processes to write their files into a folder of this name inside that of their recording. Returns their
/// answers, ordered by process; empty if none is recorded.
#[must_use]
pub fn ask(whom: Whom, moment: &str) -> Vec<Answer> {
    let processes = processes();
    let mut asked = Vec::new();
    for &process in processes.keys() {
        let is_meant = match whom {
            Whom::All => true,
            Whom::Process(wanted) => is_below(process, wanted, &processes),
        };
        let run = is_meant.then(|| run_folder(process)).flatten();
        let socket = run.map(|run| run.join(format!("{process}.sock")));
        if let Some(socket) = socket.filter(|socket| socket.exists()) {
            asked.push((process, begin(&socket, moment)));
        }
    }
    // All processes work at the same time.
    let answers = asked.into_iter().map(|(process, stream)| Answer {
        process,
        file: stream.and_then(answer),
    });
    answers.collect()
}

/// Sends a request: the name of the folder for the file.
pub(crate) fn begin(socket: &Path, moment: &str) -> io::Result<UnixStream> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(format!("{moment}\n").as_bytes())?;
    Ok(stream)
}

fn answer(mut stream: UnixStream) -> io::Result<Option<PathBuf>> {
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    match text.split_once(' ') {
        Some(("ok", path)) => Ok((!path.is_empty()).then(|| path.into())),
        Some(("no", why)) => Err(io::Error::other(why.to_owned())),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// All processes, each with its parent.
fn processes() -> BTreeMap<u32, u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    ids.filter_map(|process| Some((process, parent(process)?)))
        .collect()
}

fn parent(process: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name before it may contain anything, including brackets.
    let rest = stat.rsplit_once(')')?.1;
    rest.split_whitespace().nth(1)?.parse().ok()
}

fn is_below(process: u32, wanted: u32, processes: &BTreeMap<u32, u32>) -> bool {
    let mut at = process;
    // Bounded, so that processes that start meanwhile cannot make the chain endless.
    for _ in 0..processes.len() {
        if at == wanted {
            return true;
        }
        match processes.get(&at) {
            Some(&parent) => at = parent,
            None => return false,
        }
    }
    false
}

/// The folder in which a process reports, if it is recorded.
fn run_folder(process: u32) -> Option<PathBuf> {
    let variables = fs::read(format!("/proc/{process}/environ")).ok()?;
    let mut variables = variables.split(|&byte| byte == 0);
    let value = variables.find_map(|it| it.strip_prefix(RUN.as_bytes())?.strip_prefix(b"="))?;
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_started_a_process_stands_for_it() {
        let processes = BTreeMap::from([(1, 0), (7, 1), (8, 7), (9, 8), (20, 1)]);
        let below = |process, wanted| is_below(process, wanted, &processes);
        assert!(below(9, 9) && below(9, 7) && below(9, 1));
        assert!(!below(9, 20) && !below(7, 9) && !below(9, 10));
        // A cycle, made by numbers that were reused meanwhile, ends.
        assert!(!is_below(3, 5, &BTreeMap::from([(3, 4), (4, 3)])));
    }
}

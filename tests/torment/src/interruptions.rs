//! Runs that are ended from outside: by a reader that closes early, a signal, or a limit on file size; and a server
//! that only a signal ends.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use vramscope_synth::Rng;

use crate::child::{self, Ended};
use crate::verdict;

/// Signals that end programs from outside, with their numbers.
const SIGNALS: [(&str, i32); 3] = [("INT", 2), ("TERM", 15), ("HUP", 1)];

/// The longest delay of a signal in milliseconds: a run takes about as long.
const MOST_DELAY_MS: u64 = 80;

/// The most blocks of 512 bytes for a run that may not write all it wants to.
const MOST_BLOCKS: u64 = 24;

/// The signal for a file beyond the limit.
const TOO_LARGE: i32 = 25;

/// How long a server may take for its first line, or for an answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs a command that writes a file, and ends it before it is done.
pub(crate) type End = fn(&Path, &[String], &Path, &mut Rng) -> Result<Option<String>>;

/// Runs a command whose reader closes at once. `code` is its exit code with a patient reader.
///
/// # Errors
///
/// If the program cannot be started.
pub(crate) fn closed_pipe(
    program: &Path,
    words: &[String],
    folder: &Path,
    code: Option<i32>,
) -> Result<Option<String>> {
    // The file stays empty.
    drop(File::create(folder.join(child::STDOUT))?);
    let mut started = child::start(program, words, folder, Stdio::piped())?;
    drop(started.stdout.take());
    let ended = child::wait(started, folder)?;
    let differs = ended.code() != code;
    let what = || format!("exit code {:?}, but {code:?} if all is read", ended.code());
    let said = ended.stderr.trim();
    let fault = said.contains("panicked at").then(|| said.to_owned());
    Ok(fault.or_else(|| differs.then(what)))
}

/// Runs a command that writes a file, and interrupts it midway.
///
/// # Errors
///
/// If the program cannot be started.
pub(crate) fn interrupted(
    program: &Path,
    words: &[String],
    folder: &Path,
    rng: &mut Rng,
) -> Result<Option<String>> {
    let before = verdict::names(folder);
    let (signal, number) = *rng.pick(&SIGNALS);
    let out = File::create(folder.join(child::STDOUT))?;
    let started = child::start(program, words, folder, out.into())?;
    thread::sleep(Duration::from_millis(rng.below(MOST_DELAY_MS)));
    child::send(signal, &started);
    let ended = child::wait(started, folder)?;
    Ok(match ended.signal() == Some(number) {
        true => verdict::interrupted(&ended, &before, folder),
        // It was faster, or was started with the signal ignored.
        false => verdict::fault(words, &ended, folder),
    })
}

/// Runs a command whose file may not grow beyond a few blocks.
///
/// # Errors
///
/// If the program cannot be started.
pub(crate) fn too_large(
    program: &Path,
    words: &[String],
    folder: &Path,
    rng: &mut Rng,
) -> Result<Option<String>> {
    let before = verdict::names(folder);
    let blocks = rng.between(1, MOST_BLOCKS);
    let ended = child::run_with(program, words, folder, None, blocks)?;
    Ok(match ended.code() {
        Some(0) => verdict::fault(words, &ended, folder),
        Some(_) => verdict::fault(words, &ended, folder)
            .or_else(|| verdict::interrupted(&ended, &before, folder)),
        None if ended.signal() == Some(TOO_LARGE) => verdict::interrupted(&ended, &before, folder),
        None => verdict::fault(words, &ended, folder),
    })
}

/// Serves a file, requests the page, and ends the server.
///
/// # Errors
///
/// If the program cannot be started.
pub(crate) fn served(program: &Path, words: &[String], folder: &Path) -> Result<Option<String>> {
    let before = verdict::names(folder);
    let path = folder.join(child::STDOUT);
    let out = File::create(&path)?;
    let mut started = child::start(program, words, folder, out.into())?;
    let patience = Instant::now() + PATIENCE;
    let mut answer = None;
    while answer.is_none() && Instant::now() < patience && started.try_wait()?.is_none() {
        let printed = fs::read_to_string(&path)?;
        match printed.split_once('\n') {
            Some((address, _)) => answer = Some(ask(address)),
            None => thread::sleep(Duration::from_millis(5)),
        }
    }
    child::send("TERM", &started);
    let ended = child::wait(started, folder)?;
    Ok(match answer {
        // It does not serve this file: it ended by itself.
        None => verdict::fault(words, &ended, folder),
        Some(Ok(status)) if status.starts_with("HTTP/1.1 200 ") => {
            after_serving(&ended, &before, folder)
        }
        Some(Ok(status)) => Some(format!("it answered {status:?}")),
        Some(Err(error)) => Some(format!("it did not answer: {error}")),
    })
}

fn after_serving(ended: &Ended, before: &[std::ffi::OsString], folder: &Path) -> Option<String> {
    match ended.signal() {
        Some(15) => verdict::interrupted(ended, before, folder),
        _ => Some(format!("a signal did not end it: {}", ended.stderr.trim())),
    }
}

/// The first line of the answer to a request for an address.
fn ask(address: &str) -> Result<String> {
    let rest = address.strip_prefix("http://").unwrap_or(address);
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let path = path.split('#').next().unwrap_or_default();
    let mut stream = TcpStream::connect(host)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    write!(
        stream,
        "GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
    )?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let text = String::from_utf8_lossy(&answer);
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

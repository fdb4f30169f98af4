//! Starts a program in the foreground and stays out of its way.
//!
//! Signals from other processes are forwarded if they were sent to this process alone. Signals from the terminal, or
//! for the whole process group, reach the program directly, since both are in one group. Signals ignored at the start
//! stay ignored for both, as `nohup` requires.

use std::fs;
use std::io;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::raw::WithRawSiginfo;

/// The signals that are forwarded.
const FORWARDED: [i32; 6] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2];

/// Runs a command with this process's input and output, and returns its status. From the first call on, these signals
/// no longer end this process while a command runs, unless other code here makes them do so.
///
/// # Errors
/// If the command cannot be started.
pub fn run(command: &mut Command) -> io::Result<ExitStatus> {
    let ignored = signals_in("/proc/self/status", "SigIgn:");
    let wanted = FORWARDED
        .into_iter()
        .filter(|signal| ignored >> (signal - 1) & 1 == 0);
    let mut signals = SignalsInfo::<WithRawSiginfo>::new(wanted)?;
    let stop = signals.handle();
    let mut child = command.spawn()?;
    let process = Pid::from_child(&child);
    let mut witness = Witness::new();
    let forwarding = thread::spawn(move || {
        for info in signals.forever() {
            // Codes above 0 come from the kernel: signals from the terminal.
            let is_for_us = !witness.was_hit() && info.si_code <= 0;
            if let (true, Some(signal)) = (is_for_us, Signal::from_named_raw(info.si_signo)) {
                // A program that has just ended needs no signal.
                let _ = kill_process(process, signal);
            }
        }
    });
    // The ended process keeps its number until signals are no longer sent to it.
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(process), options) {}
    stop.close();
    drop(forwarding.join());
    child.wait()
}

/// An idle process in our group: a signal that ends it went to the whole group. Without a witness, all signals are
/// forwarded.
struct Witness(Option<Child>);

impl Witness {
    fn new() -> Self {
        let mut command = Command::new("cat");
        // It ends with us, since nobody else holds the other end of its input.
        command.stdin(Stdio::piped());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        Self(command.spawn().ok())
    }

    /// Whether the signal that just arrived has ended it. If so, another one takes its place.
    fn was_hit(&mut self) -> bool {
        // A signal to a group reaches its processes one after the other.
        thread::sleep(Duration::from_millis(20));
        let Some(child) = &mut self.0 else {
            return false;
        };
        // On a busy machine it may not have had time to end.
        let status = format!("/proc/{}/status", child.id());
        let waits = ["SigPnd:", "ShdPnd:"].map(|name| signals_in(&status, name));
        let was_hit = waits != [0, 0] || !matches!(child.try_wait(), Ok(None));
        if was_hit {
            *self = Self::new();
        }
        was_hit
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            // It may be stopped, since the terminal stops the whole group.
            drop(child.kill());
            drop(child.wait());
        }
    }
}

/// The signals in a line of a process's status, one bit each; 0 if the system does not provide it.
fn signals_in(status: &str, name: &str) -> u64 {
    let status = fs::read_to_string(status).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix(name));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0)
}

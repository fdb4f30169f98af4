//! Starts a program in the foreground and stays out of its way.
//!
//! Signals from other processes are forwarded. Those from the terminal reach the program directly, since both are in one
//! process group. Signals that were ignored at the start stay ignored for both, as `nohup` requires.

use std::fs;
use std::io;
use std::process::{Command, ExitStatus};
use std::thread;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::raw::WithRawSiginfo;

/// What ends a program, makes it do something, or interrupts it.
const FORWARDED: [i32; 6] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2];

/// Runs a command with this process's input and output, and returns how it ended. From the first call on, such signals no
/// longer end this process while a command runs, if nobody else has them do so.
///
/// # Errors
/// If it cannot be started.
pub fn run(command: &mut Command) -> io::Result<ExitStatus> {
    let ignored = ignored_signals();
    let wanted = FORWARDED
        .into_iter()
        .filter(|signal| ignored >> (signal - 1) & 1 == 0);
    let mut signals = SignalsInfo::<WithRawSiginfo>::new(wanted)?;
    let stop = signals.handle();
    let mut child = command.spawn()?;
    let process = Pid::from_child(&child);
    let forwarding = thread::spawn(move || {
        for info in signals.forever() {
            // Codes above 0 come from the kernel: signals from the terminal.
            let is_sent = info.si_code <= 0;
            if let (true, Some(signal)) = (is_sent, Signal::from_named_raw(info.si_signo)) {
                // A program that has just ended needs no signal.
                let _ = kill_process(process, signal);
            }
        }
    });
    // The ended process keeps its number until nobody sends signals to that any more.
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(process), options) {}
    stop.close();
    drop(forwarding.join());
    child.wait()
}

/// The signals that this process ignores, a bit for each.
fn ignored_signals() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0)
}

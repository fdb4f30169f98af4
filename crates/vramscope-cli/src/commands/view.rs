//! `vramscope view`: the page in a browser, with files opened.

pub(crate) mod assets;
mod browser;
mod events;
mod files;
mod http;
mod ranks;
mod server;
#[cfg(test)]
mod server_tests;

use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use clap::Args;

use crate::failure::Failure;
use crate::input::is_stdin;
use crate::inputs;
use crate::output;

/// The time between two looks whether a file is there.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Explore snapshots in the browser: serves the page from this program, on this machine only
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// The snapshots, folders of them, datasets or overviews of ranks (.vset), or graphs of torch.compile; `-` reads standard
    /// input. Without any, the page asks for one
    files: Vec<PathBuf>,
    /// Follow the files: the page shows each new version, such as `vramscope-capture run --live` writes
    #[arg(long)]
    live: bool,
    /// Print the address, open no browser
    #[arg(long)]
    no_open: bool,
    /// Listen on this port instead of a free one
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    port: u16,
}

const EXAMPLES: &str = "\
Examples:
  vramscope view snapshot.pickle
  vramscope view --no-open --port 8321 rank*.pickle
  vramscope view runs.vset                   # all ranks of a job; a click opens the snapshot of one
  vramscope view --live live.vram            # a running program, of `vramscope-capture run --live -o live.vram`
  ssh node42 cat run/snapshot.pickle | vramscope view -

The page is served on the loopback address, under a path that cannot be guessed, until Ctrl-C. Only
the named files can be read through it, and the snapshots that a dataset names, if they lie in it
or below the folder in which it lies. The page is forbidden to reach any other machine.

With --live the page asks this program for each new version of a file while it is looked at. A file that does not exist
yet is waited for. Any file that a program writes again and again can be followed, if each version is complete (written
under another name, then renamed).";

/// Serves until interrupted.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    assets::PAGE.must_be_here()?;
    if options.live {
        wait_for(&options.files)?;
    }
    let files = files::prepare(&inputs::files(&options.files)?)?;
    let server = server::Server::bind(options.port, assets::PAGE, files, options.live)?;
    let address = server.address();
    output::print(&format!("{address}\n"))?;
    if let Some(line) = forwarding_line(server.port(), |name| std::env::var(name).ok()) {
        output::note(&format!(
            "On your own machine, run:  {line}\nthen open the address above there.\n"
        ));
    } else if !options.no_open {
        // The address was printed already, so a machine without a browser is no failure.
        match browser::open(&address) {
            Ok(()) => output::note("If no page appears, open the address above yourself.\n"),
            Err(error) => output::note(&format!(
                "cannot open a browser: {error}\nOpen this address yourself:  {address}\n"
            )),
        }
    }
    output::note("Ctrl-C ends.\n");
    server.serve()
}

/// Waits until files exist that are still to be written.
fn wait_for(files: &[PathBuf]) -> Result<(), Failure> {
    if files.is_empty() {
        return Err(Failure::Usage("--live needs a FILE to follow".to_owned()));
    }
    for file in files.iter().filter(|file| !is_stdin(file)) {
        if !file.exists() {
            output::note(&format!("waiting for {}\n", file.display()));
        }
        while !file.exists() {
            thread::sleep(LOOK_EVERY);
        }
    }
    Ok(())
}

/// Over SSH: the command that forwards the port to the user's machine.
fn forwarding_line(port: u16, variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    let connection = variable("SSH_CONNECTION")?;
    // SSH_CONNECTION has client address, client port, server address, server port.
    let mut fields = connection.split_whitespace().skip(2);
    let host = fields.next().unwrap_or("HOST");
    let ssh_port = fields
        .next()
        .filter(|&port| port != "22")
        .map(|port| format!(" -p {port}"));
    let user = variable("USER")
        .filter(|user| !user.is_empty())
        .map(|user| format!("{user}@"));
    Some(format!(
        "ssh -L {port}:127.0.0.1:{port}{} {}{host}",
        ssh_port.unwrap_or_default(),
        user.unwrap_or_default()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ssh_sessions_are_told_how_to_forward() {
        let line = |connection: Option<&str>| {
            forwarding_line(8321, |name| match name {
                "SSH_CONNECTION" => connection.map(str::to_owned),
                "USER" => Some("me".to_owned()),
                _ => None,
            })
        };
        assert_eq!(line(None), None);
        assert_eq!(
            line(Some("10.0.0.1 50000 10.0.0.2 22")).as_deref(),
            Some("ssh -L 8321:127.0.0.1:8321 me@10.0.0.2")
        );
        assert_eq!(
            line(Some("10.0.0.1 50000 10.0.0.2 2222")).as_deref(),
            Some("ssh -L 8321:127.0.0.1:8321 -p 2222 me@10.0.0.2")
        );
    }
}

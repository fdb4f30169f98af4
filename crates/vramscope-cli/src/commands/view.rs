//! `vramscope view`: opens files in the page, in a browser.

mod ranks;

use std::env;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use clap::Args;
use vramscope_serve::{Served, Server, forwarding_line};

use crate::failure::Failure;
use crate::input::{is_stdin, open_file};
use crate::inputs;
use crate::output;
use crate::page;
use crate::temporary::Temporary;

/// Time between checks whether a file exists.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Explore snapshots in the browser: serves the page from this program, on this machine only
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// The snapshots, folders of them, datasets or overviews of ranks (.vset), or graphs of torch.compile; `-` reads
    /// standard input. Without files, the page asks for one
    files: Vec<PathBuf>,
    /// Follow the files: the page shows each new version, as written by `vramscope-capture run --live`
    #[arg(long)]
    live: bool,
    /// Print the address, but open no browser
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
    let page = page::of_program()?;
    if options.live {
        wait_for(&options.files)?;
    }
    let files = inputs::files(&options.files)?;
    let files = files
        .iter()
        .map(|path| served(path))
        .collect::<Result<_, _>>()?;
    let server = Server::bind(options.port, page, files, options.live).map_err(Failure::page)?;
    let address = server.address();
    output::print(&format!("{address}\n"))?;
    if let Some(line) = forwarding_line(server.port(), |name| env::var(name).ok()) {
        output::note(&format!(
            "On your own machine, run:  {line}\nthen open the address above there.\n"
        ));
    } else if !options.no_open {
        // The address was already printed, so a machine without a browser is not an error.
        match open_browser(&address) {
            Ok(()) => output::note("If no page appears, open the address above yourself.\n"),
            Err(error) => output::note(&format!(
                "cannot open a browser: {error}\nOpen this address yourself:  {address}\n"
            )),
        }
    }
    output::note("Ctrl-C ends.\n");
    server.serve().map_err(Failure::page)
}

/// Checks that a file can be read, and reads pipes and the like to their end.
fn served(path: &Path) -> Result<Served, Failure> {
    if is_stdin(path) {
        let read = Served::of_stream("stdin", io::stdin().lock());
        return read.map_err(Failure::io("cannot read standard input"));
    }
    let served = Served::of_file(path, open_file(path)?, ranks::of(path));
    served.map_err(Failure::io(format!("cannot read {}", path.display())))
}

/// Opens the address in the user's browser, through a temporary file that is removed when the command ends.
fn open_browser(address: &str) -> io::Result<()> {
    // `tempfile` creates it with mode 0600.
    let mut name = tempfile::Builder::new();
    name.prefix("vramscope-").suffix(".html");
    vramscope_serve::open(address, Temporary::create(&name, &env::temp_dir())?)
}

/// Waits for files that are still to be written.
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

//! `cargo xtask view`: from a fresh clone to an open page.

use std::collections::HashMap;
use std::fs::File;
use std::path::PathBuf;
use std::process;
use std::thread;

use anyhow::{Context, Result};
use clap::Args;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use vramscope_serve::{Page, Served, Server, forwarding_line};

use crate::page::{self, Profile};
use crate::process::target_dir;

#[derive(Args)]
pub struct Options {
    /// Snapshots to load; without any, the page has samples
    files: Vec<PathBuf>,
    /// Print the address, open no browser
    #[arg(long)]
    no_open: bool,
    /// Serve on this port instead of a free one
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    port: u16,
    /// Build the page as for hosts: smaller and a little faster, which takes minutes
    #[arg(long)]
    pub release: bool,
}

/// Builds the page, then serves it until interrupted.
#[expect(clippy::exit, reason = "an interrupted server has done its work")]
pub fn run(options: &Options, profile: Profile) -> Result<()> {
    // Opened now, so that a wrong name is reported before the build.
    let files = options.files.iter().map(|path| {
        let opened = File::open(path).and_then(|file| Served::of_file(path, file, HashMap::new()));
        opened.with_context(|| format!("cannot read {}", path.display()))
    });
    let files = files.collect::<Result<Vec<_>>>()?;
    let page = match files.is_empty() {
        true => page::build(profile)?,
        false => page::build_bare(profile)?,
    };
    let server = Server::bind(options.port, Page::read(&page)?, files, false)?;
    let address = server.address();
    println!("{address}");
    if let Some(line) = forwarding_line(server.port(), |name| std::env::var(name).ok()) {
        println!("On your own machine, run:  {line}\nthen open the address above there.");
    } else if !options.no_open {
        // The address was printed, so a machine without a browser is not an error.
        if let Err(error) = open(&address) {
            println!("cannot open a browser: {error:#}\nOpen the address above yourself.");
        }
    }
    println!("Ctrl-C ends.");
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    thread::spawn(move || {
        signals.forever().next();
        // The user ended the server on purpose: not an error.
        process::exit(0);
    });
    Ok(server.serve()?)
}

/// Opens the address in the user's browser.
fn open(address: &str) -> Result<()> {
    // In the target directory it may stay when the server is ended.
    let name = target_dir().join("view.html");
    let mut options = File::options();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(&name)?;
    Ok(vramscope_serve::open(address, (file, name))?)
}

//! Serves a folder on loopback, like a simple static host: `serve [FOLDER] [--port N]`.
#![expect(clippy::print_stdout, reason = "a command line tool")]

use std::path::PathBuf;

use anyhow::Result;
use clap::Parser;
use vramscope_browser_tests::{Server, page_folder};

#[derive(Parser)]
struct Arguments {
    /// The folder to serve; the built page if not given
    folder: Option<PathBuf>,
    /// The port; a free port if not given
    #[arg(long, default_value_t = 0)]
    port: u16,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let folder = arguments.folder.unwrap_or_else(page_folder);
    let server = Server::start(&folder, arguments.port)?;
    println!("{}", server.url(""));
    loop {
        std::thread::park();
    }
}

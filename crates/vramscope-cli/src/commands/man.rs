//! `vramscope man`: the manual as man pages.

use std::path::{Path, PathBuf};

use clap::Args;
use clap_mangen::Man;

use crate::destination::UnfinishedFolder;
use crate::failure::Failure;
use crate::{help, output};

/// Print the manual as a man page, or write one page per command
///
/// Also describes the files for other programs: `json` (the keys of --json) and `exports` (what convert writes).
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// The command whose page to print, or json, exports; by default the program's own page
    #[arg(conflicts_with = "output")]
    command: Option<String>,
    /// Write all pages into this folder: vramscope.1, vramscope-info.1, ...
    #[arg(short, long, value_name = "FOLDER")]
    output: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  vramscope man peak | man -l -
  vramscope man json | less
  vramscope man -o ~/.local/share/man/man1";

/// The descriptions of formats that programs read, printed like the pages of commands.
const FORMATS: [(&str, &str); 2] = [
    ("json", include_str!("../../json.md")),
    ("exports", include_str!("../../exports.md")),
];

pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let program = help::program();
    if let Some(folder) = &options.output {
        return write_all(program, folder);
    }
    let is_asked = |(name, _): &&(&str, &str)| options.command.as_deref() == Some(name);
    if let Some((_, text)) = FORMATS.iter().find(is_asked) {
        return output::print(text);
    }
    let page = match &options.command {
        None => program,
        Some(name) => command(program, name)?,
    };
    let mut text = Vec::new();
    Man::new(page)
        .render(&mut text)
        .map_err(Failure::io("cannot write the man page"))?;
    output::print_bytes(&text)
}

fn write_all(program: clap::Command, folder: &Path) -> Result<(), Failure> {
    let mut program = program.disable_help_subcommand(true);
    program.build();
    let mut files = UnfinishedFolder::create(folder)?;
    for page in std::iter::once(&program).chain(program.get_subcommands()) {
        let page = Man::new(page.clone());
        files.write(&page.get_filename(), |mut out| {
            page.render(&mut out).map_err(output::unwritten)
        })?;
    }
    files.finish();
    Ok(())
}

/// Finds a command by name, and sets its full name: `vramscope peak`.
fn command(mut program: clap::Command, name: &str) -> Result<clap::Command, Failure> {
    program.build();
    let found = program.find_subcommand(name).cloned();
    found.ok_or_else(|| {
        Failure::Usage(format!(
            "there is no command {name}; `vramscope --help` lists them, and json and exports have pages too"
        ))
    })
}

//! `vramscope skill`: texts that teach agents to use this program.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use crate::destination::{self, Destination};
use crate::failure::Failure;
use crate::output;

/// The texts, by their paths in the skill's folder.
const FILES: [(&str, &str); 6] = [
    ("SKILL.md", include_str!("../../skill/SKILL.md")),
    (
        "references/oom.md",
        include_str!("../../skill/references/oom.md"),
    ),
    (
        "references/leak.md",
        include_str!("../../skill/references/leak.md"),
    ),
    (
        "references/fragmentation.md",
        include_str!("../../skill/references/fragmentation.md"),
    ),
    (
        "references/fleet.md",
        include_str!("../../skill/references/fleet.md"),
    ),
    (
        "references/record.md",
        include_str!("../../skill/references/record.md"),
    ),
];

/// Teach an agent to answer questions about GPU memory with this program
///
/// A skill is a folder with a text that agents read when they need it (agentskills.io). This one says which command
/// answers what, and that opening a snapshot with this program is safe, while unpickling it is not.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Write the skill into a folder of skills, replacing an older one
    Install {
        /// Folder of skills, in which `vramscope` is created: .claude/skills for Claude Code
        #[arg(long, value_name = "FOLDER", default_value = ".agents/skills")]
        dir: PathBuf,
    },
}

const EXAMPLES: &str = "\
Examples:
  vramscope skill install
  vramscope skill install --dir ~/.claude/skills";

pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let Command::Install { dir } = &options.command;
    let folder = dir.join("vramscope");
    let references = folder.join("references");
    // In somebody else's repository, links may lead to any of the user's files. Links on the way to a folder elsewhere
    // are the user's own.
    let on_the_way = dir.ancestors().filter(|place| place.is_relative());
    let mut folders = on_the_way.chain([&*folder, &references]);
    if let Some(link) = folders.find(|place| place.is_symlink()) {
        return Err(in_the_way(link));
    }
    destination::create_folder(&references)?;
    for (name, text) in FILES {
        let path = folder.join(name);
        if fs::symlink_metadata(&path).is_ok_and(|it| !it.is_file()) {
            return Err(in_the_way(&path));
        }
        let write = |out: &mut dyn Write| out.write_all(text.as_bytes()).map_err(output::unwritten);
        Destination::Path(path).write(true, write)?;
    }
    output::print(&format!(
        "{}\n",
        crate::harmless::printable(&folder.join("SKILL.md").display().to_string())
    ))
}

/// The failure if something is in the way of a folder or file.
fn in_the_way(place: &Path) -> Failure {
    Failure::Usage(format!(
        "{} is a link, or no file: nothing is written through it. Remove it, or name another folder with --dir",
        place.display()
    ))
}

//! `vramscope skill`: texts from which agents learn to use this program.

use std::fs;
use std::path::PathBuf;

use clap::{Args, Subcommand};

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
    /// Write the skill into a folder of skills, in place of an older one
    Install {
        /// Folder of skills, in which `vramscope` is made: .claude/skills for Claude Code
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
    for (name, text) in FILES {
        let path = folder.join(name);
        let parent = path.parent().unwrap_or(&folder);
        let failed = || Failure::io(format!("cannot write {}", path.display()));
        fs::create_dir_all(parent).map_err(failed())?;
        fs::write(&path, text).map_err(failed())?;
    }
    output::print(&format!(
        "{}\n",
        crate::harmless::printable(&folder.join("SKILL.md").display().to_string())
    ))
}

//! `vramscope completions`: scripts that let a shell complete commands and options.

use clap::Args;
use clap_complete::{Shell, generate};

use crate::failure::Failure;
use crate::{help, output};

/// Print the completions for a shell
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Shell to complete for
    #[arg(value_enum)]
    shell: Shell,
}

const EXAMPLES: &str = "\
Examples:
  vramscope completions bash > ~/.local/share/bash-completion/completions/vramscope
  vramscope completions zsh > \"${fpath[1]}/_vramscope\"
  vramscope completions fish > ~/.config/fish/completions/vramscope.fish";

pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let mut text = Vec::new();
    generate(options.shell, &mut help::program(), "vramscope", &mut text);
    output::print_bytes(&text)
}

//! The program `vramscope`: a thin wrapper around the library.

use std::env;
use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(vramscope_cli::run(env::args_os()))
}

//! Builds everything that the tests start, and prints the paths as lines `VARIABLE=path`. With `--built`, the capture
//! and the stand-in driver already exist.
#![expect(clippy::print_stdout, reason = "a command line tool")]

fn main() -> anyhow::Result<()> {
    let are_built = std::env::args().any(|argument| argument == "--built");
    for (variable, path) in vramscope_capture_tests::programs::build(are_built)? {
        println!("{variable}={}", path.display());
    }
    Ok(())
}

//! Builds everything that the tests start, and prints the paths as lines `VARIABLE=path`.
#![expect(clippy::print_stdout, reason = "a command line tool")]

fn main() -> anyhow::Result<()> {
    for (variable, path) in vramscope_capture_tests::programs::build()? {
        println!("{variable}={}", path.display());
    }
    Ok(())
}

//! Exports of inductor's graphs and the logs they stand in.
#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| vramscope_fuzz::inductor(data));

#[cfg(not(fuzzing))]
fn main() -> std::io::Result<()> {
    vramscope_fuzz::run_files(vramscope_fuzz::inductor)
}

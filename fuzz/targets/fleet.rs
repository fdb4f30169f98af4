//! Summaries of ranks, and every question to them.
#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| vramscope_fuzz::fleet(data));

#[cfg(not(fuzzing))]
fn main() -> std::io::Result<()> {
    vramscope_fuzz::run_files(vramscope_fuzz::fleet)
}

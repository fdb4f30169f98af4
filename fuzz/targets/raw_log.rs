//! Raw logs of captured programs, and the encoder's law on what becomes of them.
#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| vramscope_fuzz::raw_log(data));

#[cfg(not(fuzzing))]
fn main() -> std::io::Result<()> {
    vramscope_fuzz::run_files(vramscope_fuzz::raw_log)
}

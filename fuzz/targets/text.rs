//! Any text is read, in pieces as at once.
#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| vramscope_fuzz::text(data));

#[cfg(not(fuzzing))]
fn main() -> std::io::Result<()> {
    vramscope_fuzz::run_files(vramscope_fuzz::text)
}

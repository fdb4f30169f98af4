//! Packing loses nothing. The seeds have packed files too, so that their reader meets damage.
#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| vramscope_fuzz::vram_format(data));

#[cfg(not(fuzzing))]
fn main() -> std::io::Result<()> {
    vramscope_fuzz::run_files(vramscope_fuzz::vram_format)
}

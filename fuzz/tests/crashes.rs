//! Inputs that once broke a rule of the fuzz targets, and the targets' own seeds.

#![expect(clippy::unwrap_used, reason = "a test that can't go on has failed")]

use std::path::Path;

use vramscope_fuzz::{
    buffers, decode, decode_chunked, fleet, inductor, pipeline, profiler, text, vram_format,
};

/// Every file in `folder` of this package, with its name.
fn files(folder: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| {
            (
                entry.file_name().into_string().unwrap(),
                std::fs::read(entry.path()).unwrap(),
            )
        })
        .collect();
    files.sort();
    assert!(!files.is_empty(), "{} is empty", folder.display());
    files
}

#[test]
fn no_rule_is_broken_again() {
    let all = files("crashes").into_iter().chain(files("corpus/seeds"));
    for (name, bytes) in all {
        println!("{name}");
        decode(&bytes);
        decode_chunked(&bytes);
        pipeline(&bytes);
        vram_format(&bytes);
        buffers(&bytes);
        inductor(&bytes);
        fleet(&bytes);
        text(&bytes);
        profiler(&bytes);
    }
}

//! Inputs that once broke a rule of the fuzz targets, and the targets' own seeds.

#[expect(
    unreachable_pub,
    reason = "the file belongs to the fuzz package, where these are public"
)]
#[path = "../../../../fuzz/src/buffers.rs"]
mod buffers;
#[expect(
    unreachable_pub,
    reason = "the file belongs to the fuzz package, where these are public"
)]
#[path = "../../../../fuzz/src/inductor.rs"]
mod inductor;
#[expect(
    unreachable_pub,
    reason = "the file belongs to the fuzz package, where these are public"
)]
#[path = "../../../../fuzz/src/rules.rs"]
pub(crate) mod rules;

use std::path::Path;

/// Every file below `folder` of the repository, with its name.
fn files(folder: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(folder);
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
    let all = files("crates/vramscope-core/tests/crashes")
        .into_iter()
        .chain(files("fuzz/corpus/seeds"));
    for (name, bytes) in all {
        println!("{name}");
        rules::decode(&bytes);
        rules::decode_chunked(&bytes);
        rules::pipeline(&bytes);
        rules::packed(&bytes);
        buffers::buffers(&bytes);
        inductor::inductor(&bytes);
    }
}

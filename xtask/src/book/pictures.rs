//! The book's pictures: views of the start page's samples, light and dark, as `vramscope plot` draws them.

use std::fs;
use std::process::Command;

use anyhow::{Result, bail};

use crate::page::replace_folder;
use crate::process::{root, run, target_dir};
use crate::program;
use xtask_page::samples;

/// Where they lie; relative to the repository's root.
const FOLDER: &str = "book/src/pictures";

/// Maximum size of a picture, because every clone contains it forever.
const MOST_BYTES: u64 = 60 << 10;

const GPT: &str = "gpt_adamw.pickle.zst";
const CHECKPOINT: &str = "gpt_checkpoint.pickle.zst";
const OOM: &str = "out-of-memory.pickle.gz";

/// A picture of the book: the view, its samples, its name, and further options of `vramscope plot`.
type Picture = (
    &'static str,
    &'static [&'static str],
    &'static str,
    &'static [&'static str],
);

const PICTURES: [Picture; 8] = [
    ("timeline", &[GPT], "timeline", &[]),
    ("timeline", &["leak.pickle.gz"], "leak", &[]),
    ("timeline", &[OOM], "oom", &[]),
    ("segments", &[OOM], "segments", &[]),
    ("map", &["fragmented.pickle.gz"], "map", &[]),
    ("allocator", &[OOM], "allocator", &["--at", "oom"]),
    ("flame", &[GPT], "flame", &[]),
    ("compare", &[GPT, CHECKPOINT], "compare", &[]),
];

/// Draws all pictures anew.
pub(super) fn draw() -> Result<()> {
    let program = program::build(None, "dev")?;
    let written = target_dir().join("book-samples");
    replace_folder(&written)?;
    samples::write(&written)?;
    let folder = root().join(FOLDER);
    replace_folder(&folder)?;
    for (view, samples, name, options) in PICTURES {
        for theme in ["light", "dark"] {
            let file = folder.join(format!("{name}-{theme}.svg"));
            let mut plot = Command::new(&program);
            plot.args(["plot", "--view", view]);
            plot.args(["--size", "900x320", "--theme", theme, "-o"]);
            plot.arg(&file).args(options);
            run(plot.args(samples.iter().map(|sample| written.join(sample))))?;
            let bytes = fs::metadata(&file)?.len();
            if bytes > MOST_BYTES {
                bail!("{} has {bytes} bytes, at most {MOST_BYTES}", file.display());
            }
        }
    }
    Ok(())
}

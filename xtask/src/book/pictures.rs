//! The book's pictures: views of the start page's samples, light and dark, as `vramscope plot` draws them.

use std::fs;
use std::process::Command;

use anyhow::{Result, bail};

use crate::page::replace_folder;
use crate::process::{root, run, target_dir};
use crate::program;
use xtask_page::samples;

/// The pictures' folder; relative to the repository's root.
const FOLDER: &str = "book/src/pictures";

/// Maximum size of a picture, because every clone contains it forever.
const MOST_BYTES: u64 = 60 << 10;

const GPT: &str = "gpt_adamw.pickle.zst";
const CHECKPOINT: &str = "gpt_checkpoint.pickle.zst";
const OOM: &str = "out-of-memory.pickle.gz";

/// Pictures of the book by name: options of `vramscope plot`, and samples.
const PICTURES: [(&str, &str, &[&str]); 8] = [
    ("timeline", "--view=timeline", &[GPT]),
    ("leak", "--view=timeline", &["leak.pickle.gz"]),
    ("oom", "--view=timeline", &[OOM]),
    ("segments", "--view=segments", &[OOM]),
    ("map", "--view=map", &["fragmented.pickle.gz"]),
    ("allocator", "--view=allocator --at=oom", &[OOM]),
    ("flame", "--view=flame", &[GPT]),
    ("compare", "--view=compare", &[GPT, CHECKPOINT]),
];

/// Draws all pictures again.
pub(super) fn draw() -> Result<()> {
    let program = program::build(None, "dev")?;
    let written = target_dir().join("book-samples");
    replace_folder(&written)?;
    samples::write(&written)?;
    let folder = root().join(FOLDER);
    replace_folder(&folder)?;
    for (name, options, samples) in PICTURES {
        for theme in ["light", "dark"] {
            let file = folder.join(format!("{name}-{theme}.svg"));
            let mut plot = Command::new(&program);
            plot.arg("plot").args(options.split(' '));
            plot.args(["--size", "900x320", "--theme", theme, "-o"]);
            plot.arg(&file);
            run(plot.args(samples.iter().map(|sample| written.join(sample))))?;
            let bytes = fs::metadata(&file)?.len();
            if bytes > MOST_BYTES {
                bail!("{} has {bytes} bytes, at most {MOST_BYTES}", file.display());
            }
        }
    }
    Ok(())
}

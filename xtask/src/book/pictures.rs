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
const OOM: &str = "out-of-memory.pickle.gz";

/// A picture of the book.
struct Picture {
    name: &'static str,
    samples: &'static [&'static str],
    view: &'static str,
    /// Further options of `vramscope plot`.
    options: &'static [&'static str],
}

impl Picture {
    const fn new(
        view: &'static str,
        samples: &'static [&'static str],
        name: &'static str,
        options: &'static [&'static str],
    ) -> Self {
        Self {
            name,
            samples,
            view,
            options,
        }
    }
}

const PICTURES: [Picture; 8] = [
    Picture::new("timeline", &[GPT], "timeline", &[]),
    Picture::new("timeline", &["leak.pickle.gz"], "leak", &[]),
    Picture::new("timeline", &[OOM], "oom", &[]),
    Picture::new("segments", &[OOM], "segments", &[]),
    Picture::new("map", &["fragmented.pickle.gz"], "map", &[]),
    Picture::new("allocator", &[OOM], "allocator", &["--at", "oom"]),
    Picture::new("flame", &[GPT], "flame", &[]),
    Picture::new(
        "compare",
        &[GPT, "gpt_checkpoint.pickle.zst"],
        "compare",
        &[],
    ),
];

/// Draws all pictures anew.
pub(super) fn draw() -> Result<()> {
    let program = program::build(None, "dev")?;
    let written = target_dir().join("book-samples");
    replace_folder(&written)?;
    samples::write(&written)?;
    let folder = root().join(FOLDER);
    replace_folder(&folder)?;
    for picture in &PICTURES {
        for theme in ["light", "dark"] {
            let file = folder.join(format!("{}-{theme}.svg", picture.name));
            let mut plot = Command::new(&program);
            plot.args(["plot", "--view", picture.view]);
            plot.args(["--size", "900x320", "--theme", theme, "-o"]);
            plot.arg(&file).args(picture.options);
            run(plot.args(picture.samples.iter().map(|sample| written.join(sample))))?;
            let bytes = fs::metadata(&file)?.len();
            if bytes > MOST_BYTES {
                bail!("{} has {bytes} bytes, at most {MOST_BYTES}", file.display());
            }
        }
    }
    Ok(())
}
